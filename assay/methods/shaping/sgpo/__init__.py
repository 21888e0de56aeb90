"""In groups without a right answer, answers are compared by how far their steps are right."""

from assay.methods.shaping.sgpo.right_prefix import RightPrefix
from assay.recipe import Like
from assay.reward import Outcome

SGPO = Like(
    "grpo",
    name="sgpo",
    title="Stepwise Guided Policy Optimization: Coloring your Incorrect Reasoning in GRPO",
    paper="2505.11595",
    claim="where all answers of a group are wrong, the share of steps before the first error tells them apart, and "
    "models of 7B, 14B and 32B learn faster than with GRPO, most at the beginning",
    missing="a judge that finds the first error of a text, and offline training",
    changes={
        "tasks": ("search-stream", "quantities", "trace"),
        "mechanism.reward": (Outcome(right=1.0, wrong=0.0), RightPrefix(slope=4.0, threshold=1.0)),
    },
    notes=(
        "Slope and threshold are ours: the paper's were not found. With them a wrong answer earns from 0.02 to 0.5. "
        "The scale and the KL penalty are those of `grpo`.",
        "The task verifies the steps. On a task that cannot verify steps this is GRPO.",
        "Division by the standard deviation of the group makes a small difference of shares as large as that of right "
        "and wrong: `--mechanism.credit.scale none` keeps it small.",
        "True steps that lead nowhere raise the share. `reward/mean` counts the grades; `reward/accuracy` does not.",
    ),
)
