"""A checker of the final answer, and a reward for the strict format of thought and answer: added, or as a gate."""

from assay.ask import Templated
from assay.recipe import Like
from assay.reward import Gated, Outcome, WellFormed

VR_RULE = Like(
    "grpo",
    name="vr-rule",
    title="DeepSeek-R1: Incentivizing Reasoning Capability in LLMs via Reinforcement Learning",
    paper="2501.12948",
    claim="rules alone, for the answer and for the format, raise a base model from 15.6% to 71.0% on AIME 2024",
    changes={
        "mechanism.ask": (Templated(),),
        "mechanism.reward": (Outcome(), WellFormed(right=0.1, wrong=0.0)),
    },
    notes=(
        "The paper adds accuracy and format rewards without giving weights; 0.1 is ours, in the range 0.1 to 1 that is "
        "in use.",
        "GRPO's values are those of 2402.03300.",
    ),
    missing="the language reward of the paper's second model",
)

VR_GATE = Like(
    "vr-rule",
    name="vr-gate",
    claim="a gate pays no answer in a wrong format: faster where the format is common, slower from scratch",
    changes={"mechanism.reward": (Gated(gate=WellFormed(right=1.0, wrong=0.0), of=Outcome(), closed=-1.0),)},
    notes=("The form and the -1 are in common use; the paper does not state them.",),
)
