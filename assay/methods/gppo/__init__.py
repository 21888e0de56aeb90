"""Clipped tokens keep the gradient that they have at the bound."""

from assay.credit import GroupRelative
from assay.methods.gppo.gate import Preserving
from assay.objective import Judged, Likelihood, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

GPPO = Recipe(
    name="gppo",
    title="Klear-Reasoner: Advancing Reasoning Capability via Gradient-Preserving Clipping Policy Optimization",
    paper="2508.07629",
    claim="clipped tokens keep a bounded gradient: above clip-higher and CISPO in the ablations; an 8B model with 90.5 "
    "on AIME 2024 and 83.2 on AIME 2025",
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
        "Clip, weight of the likelihood, prompts and group are the paper's; learning rate, mini-batches and num_steps "
        "are ours.",
        "The loss has the value of clip-higher everywhere, and differs in its gradient alone.",
        "The likelihood is that of the right answers of the optimiser step, over their own tokens.",
        "Beside a bounded weight of the same bounds (cispo) it differs where the clip of PPO is not active: it keeps w "
        "there, be it far from 1.",
    ),
    deviations=("The released code keeps a dual clip behind it, whose tokens have no gradient.",),
)
