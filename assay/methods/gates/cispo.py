"""The importance weight of a token is bounded, and no token is dropped."""

from assay.objective import Bounded, Objective, TokenMean
from assay.recipe import Like

CISPO = Like(
    "dapo",
    name="cispo",
    title="MiniMax-M1: Scaling Test-Time Compute Efficiently with Lightning Attention",
    paper="2506.13585",
    claim="with the importance weight clipped in place of the update no token is dropped: as good as DAPO on AIME "
    "2024 in half the steps, from Qwen2.5-32B",
    missing="the report's model and its lightning attention",
    changes={"mechanism.objective": Objective(gate=Bounded(least=0.0, most=5.0), aggregate=TokenMean())},
    notes=(
        "The importance weight has no lower bound, and its upper bound is not stated in the report: 5 is the value "
        "that ScaleRL (2510.13786) found good. The set-up is DAPO's, with which the report compares.",
        "The value of the loss is no surrogate of the reward: only its gradient means something.",
        "With one update a rollout the importance weight is 1, and the bound has no effect.",
    ),
    deviations=(
        "verl, ROLL: the upper bound is 1 + epsilon and there is a lower bound of 1 - epsilon, with GRPO's epsilon of "
        "0.2 unless it is set; verl's own example sets the upper epsilon to 1.2.",
        "TRL: the upper bound is epsilon_high itself, so that DAPO's 0.28 would cap every weight at 0.28.",
    ),
)
