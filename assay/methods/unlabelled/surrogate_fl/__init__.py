"""No labels: first the form of an answer, then a length that rises to half of the limit and falls."""

from assay.forwards import Agreement
from assay.methods.unlabelled.surrogate_fl.surrogate import Surrogate
from assay.objective import KL, TokenMean
from assay.recipe import Like

SURROGATE_FL = Like(
    "grpo",
    name="surrogate-fl",
    title="Surrogate Signals from Format and Length: Reinforcement Learning for Solving Mathematical Problems without "
    "Ground Truth Answers",
    paper="2505.19439",
    claim="form and length as rewards are level with gold answers for Qwen2.5-Math-7B: 40.0 on AIME 2024 against 26.7, "
    "73.0 on MATH500 against 73.0",
    changes={
        "mechanism.reward": (Surrogate(turn=0.5),),
        "mechanism.forwards": (Agreement(),),
        "mechanism.objective.aggregate": TokenMean(),
        "mechanism.objective.regularise": (KL(weight=1e-3, estimator="k3"),),
        "scale.num_prompts": 128,
        "scale.group_size": 8,
        "scale.max_new": 3072,
        "scale.temperature": 0.6,
    },
    notes=(
        "R = (S + F) / 2 + R_L if an answer can be read (F), else min(0, R_L); S is a thought and an answer that are "
        "marked once each. R_L rises from 0 at length 0 to 1 at half of the limit, and falls to -1 at the limit.",
        "128 prompts of 8 answers, the temperature, the rate, 3,072 tokens and the KL are those of the published "
        "script. An answer of 8 tokens at a limit of 24 has R_L = 0.89: what the length says depends on the limit.",
    ),
    deviations=(
        "The paper has one term of form, 1 or 0, in the place of (S + F) / 2; the published code has two, as here.",
        "An answer can be read if the verifier finds nothing wrong with its form. In the published code it must parse "
        "as a mathematical expression.",
    ),
)

SURROGATE_F = Like(
    "surrogate-fl",
    name="surrogate-f",
    claim="form alone: 85% of the gain on MATH500 comes in the first 15 steps, which learn it",
    changes={"mechanism.reward": (Surrogate(length=False),)},
    notes=("R = (S + F) / 2.",),
)
