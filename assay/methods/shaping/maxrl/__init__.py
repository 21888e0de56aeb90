"""Advantages are divided by the group's mean reward, which approaches the gradient of the log-likelihood of success."""

from assay.methods.shaping.maxrl.credit import MeanNormalised
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

MAXRL = Recipe(
    name="maxrl",
    title="Maximum Likelihood Reinforcement Learning",
    paper="2602.02710",
    claim="dividing by the group's mean reward approaches the gradient of the likelihood of success as groups grow: "
    "pass@1 at least that of other methods with higher pass@k, up to 20 times less sampling at test time than after "
    "GRPO",
    mechanism=Mechanism(
        credit=MeanNormalised(),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=256, group_size=128, max_new=2048, learning_rate=1e-5, num_steps=5800),
    notes=(
        "Values are those of the published script for SmolLM2-360M on GSM8K; 5800 steps are its 200 epochs. With one "
        "update a rollout the clip never acts.",
        "In expectation over N answers the gradient is grad p (1 - (1 - p)^(N - 1)) / p, exactly so with aggregate "
        "sequence-sum or fixed-length. There is no standard deviation, and so no ddof.",
        "A right answer has an advantage of up to N - 1: on hard problems the clip of the gradient's norm decides the "
        "size of the step.",
    ),
    deviations=(
        "If no answer is right A = 0. The published code divides by the mean plus 1e-6, which flips the sign of "
        "advantages if rewards are 1 and -1; here negative rewards are refused.",
        "An option of the published code under the same name divides by the standard deviation and the mean.",
    ),
)
