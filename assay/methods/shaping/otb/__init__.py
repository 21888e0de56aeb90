"""Each position has a baseline of its own, weighted by the gradient that each answer has accumulated so far."""

from assay.methods.shaping.otb.credit import TokenBaseline
from assay.methods.shaping.otb.energy import TokenEnergy
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

OTB = Recipe(
    name="otb",
    title="The Optimal Token Baseline: Variance Reduction for Long-Horizon LLM-RL",
    paper="2602.07078",
    claim="a baseline for each position, weighted by the gradient accumulated so far: groups of 4 train as stably as "
    "groups of 32, with over 65% fewer tokens",
    mechanism=Mechanism(
        forwards=(TokenEnergy(),),
        credit=TokenBaseline(tail="own", epsilon=1e-8),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=128, group_size=4, max_new=8192, learning_rate=1e-6, num_steps=500),
    notes=(
        "Formula and epsilon are those of the authors' code in verl; the group size is the paper's, the rest of the "
        "scale ours.",
        "Each step has two more forward passes, at the row's temperature and at half of it; together they give the "
        "sum of squared probabilities for a vocabulary of any size.",
        "With a correction c of the sampler's mismatch the weights of the baseline would need a factor c^2; this "
        "recipe has no correction.",
    ),
    deviations=(
        "An answer's own reward is part of its baseline, so that A = 0 beyond the end of the second longest answer. "
        "verl had no baseline there at first (tail=zero); tail=last keeps the baseline of the last position that two "
        "answers share.",
        "Positions count the tokens of the policy; verl's first form counts those of tools too.",
        "In a group of equal rewards A is exactly 0; in verl it is 0 up to epsilon.",
    ),
)
