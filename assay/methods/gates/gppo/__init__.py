"""Clipped tokens keep the gradient that they would have at the bound of the clip."""

from assay.credit import GroupRelative
from assay.methods.gates.gppo.gate import Preserving
from assay.objective import Judged, Likelihood, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

GPPO = Recipe(
    name="gppo",
    title="Klear-Reasoner: Advancing Reasoning Capability via Gradient-Preserving Clipping Policy Optimization",
    paper="2508.07629",
    claim="clipped tokens keep a bounded gradient: above clip-higher and CISPO in the ablations; an 8B model with "
    "90.5 on AIME 2024 and 83.2 on AIME 2025",
    mechanism=Mechanism(
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=Preserving(low=0.2, high=0.28),
            aggregate=TokenMean(),
            extra=(Likelihood(weight=0.1, over=Judged(right=True), mean="own"),),
        ),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=32768, learning_rate=1e-6, num_steps=500, num_minibatches=8),
    notes=(
        "The clip, the weight of the likelihood term, the number of prompts and the group size are the paper's; "
        "learning rate, mini-batches and num_steps are ours.",
        "The loss has the same value as with clip-higher; only its gradient differs.",
        "The likelihood term is that of the right answers of the optimiser step, averaged over their own tokens.",
        "The method differs from a bounded weight with the same bounds (cispo) where PPO's clip is not active: there "
        "the weight stays w, however far w is from 1.",
    ),
    deviations=("The released code applies a dual clip as well, whose tokens have no gradient.",),
)
