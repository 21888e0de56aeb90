"""Fill in: what the method does, in one sentence."""

from assay.lab.templates.method.parts.gate import MyMethod
from assay.recipe import Like

MY_METHOD = Like(
    "grpo",
    name="my-method",
    title="Fill in: the title of the paper",
    paper="0000.00000",
    claim="fill in: what the paper says that the method gains, over what and where",
    changes={"mechanism.objective.gate": MyMethod()},
    notes=("Fill in: which values are the paper's, and which are yours.",),
)
