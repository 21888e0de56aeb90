"""The plain policy gradient: the log-likelihood of each answer, weighted by its reward."""

from assay.credit import Score
from assay.objective import NoRatio, Objective, Open, SequenceSum
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

REINFORCE = Recipe(
    name="reinforce",
    title="Simple statistical gradient-following algorithms for connectionist reinforcement learning",
    paper="Williams 1992",
    claim="the log-likelihood of answers, weighted by their rewards, has the gradient of the expected reward",
    mechanism=Mechanism(
        credit=Score(),
        objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=SequenceSum()),
    ),
    scale=Scale(num_prompts=128, group_size=1, max_new=1024, learning_rate=1e-6, num_steps=500),
    notes=(
        "The plain estimator: no baseline, no importance ratio, and sums over tokens instead of means.",
        "The scale is ours, because the paper has no language models.",
    ),
)
