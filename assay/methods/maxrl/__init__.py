"""Advantages are divided by the mean reward: towards the likelihood of success."""

from assay.methods.maxrl.credit import MeanNormalised
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

MAXRL = Recipe(
    name="maxrl",
    title="Maximum Likelihood Reinforcement Learning",
    paper="2602.02710",
    claim="dividing by the group's mean reward follows the likelihood of success as groups grow: pass@1 at least that "
    "of other methods with higher pass@k, up to 20 times less sampling at test time than after GRPO",
    mechanism=Mechanism(
        credit=MeanNormalised(),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=256, group_size=128, max_new=2048, learning_rate=1e-5, num_steps=5800),
    notes=(
        "Values are those of the published script for SmolLM2-360M on GSM8K; 5800 steps are its 200 epochs. One update "
        "a rollout: the clip never acts.",
        "In expectation over N answers the push is grad p (1 - (1 - p)^(N - 1)) / p, exactly so with aggregate "
        "sequence-sum or fixed-length. No deviation is taken: there is no ddof.",
        "A right answer gets up to N - 1: on hard problems the gradient clip decides.",
    ),
    deviations=(
        "Where nothing is right A = 0; the published code divides by the mean plus 1e-6, which turns the sign of "
        "rewards of 1 and -1. Negative rewards are refused here.",
        "An option of the published code under the same name divides by the deviation and the mean.",
    ),
)
