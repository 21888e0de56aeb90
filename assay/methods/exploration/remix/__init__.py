"""Answers of past policies train beside new ones; then the policy becomes the base, and training goes on without."""

import dataclasses

from assay.credit import GroupRelative
from assay.methods.exploration.remix.past import KeepPast, MixPast
from assay.objective import KL, Clip, Objective, TokenMean, Truncate
from assay.recipe import Mechanism, Recipe, Stage
from assay.scale import Model, Scale

WEIGHT, BASE = 0.001, 0.5
"""Of both KL penalties together, and the share that is measured to the base."""

ON_POLICY = Mechanism(
    credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
    objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean(), regularise=(KL(weight=WEIGHT),)),
)
MIXED = dataclasses.replace(
    ON_POLICY,
    curate=(MixPast(share=0.4),),
    objective=dataclasses.replace(
        ON_POLICY.objective,
        correct=(Truncate(cap=2.0),),
        regularise=(KL(weight=WEIGHT * BASE, anchor="reference"), KL(weight=WEIGHT * (1 - BASE), anchor="old")),
    ),
    remember=(KeepPast(steps=4),),
)

REMIX = Recipe(
    name="remix",
    title="Squeeze the Soaked Sponge: Efficient Off-policy Reinforcement Finetuning for Large Language Model",
    paper="2507.06892",
    claim="answers of past policies beside new ones, then on-policy training from a policy that counts as the base: "
    "52.1 on average over five sets of problems with 1.5B after 79 thousand answers, 64.4 with 7B after 11 thousand, "
    "where methods without reuse need 30 to 450 times as many",
    missing="PPO as the method that it is put on",
    mechanism=ON_POLICY,
    scale=Scale(num_prompts=32, group_size=8, max_new=8192, learning_rate=1e-6, num_steps=350, num_minibatches=2),
    models={"policy": Model(), "reference": Model(trained=False, start="policy")},
    stages=(
        Stage("mixed", share=0.3, mechanism=MIXED),
        Stage("on-policy", share=0.7, optimiser="reset", memory="clear"),
    ),
    notes=(
        "From the paper: data of the current and of past policies in one batch, so that each answer is trained more "
        "often; a KL penalty that is a convex combination of those to the base and to the policy of the step before; "
        "and, on the way, the policy in the place of the base, from which on-policy training starts again.",
        "We know the paper's abstract and its accounts, not its tables: the share of past answers, the four steps that "
        "they are kept, both weights of the penalty, the step of the reincarnation and the scale are ours.",
        "A token of a past answer is weighed by how likely the policy before the update finds it, over how likely it "
        "was when it was written, at most 2; the clip is around the policy before the update.",
        "The advantage of a past answer is the one of its own group, computed again from the same rewards.",
    ),
)
