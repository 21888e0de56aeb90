"""The few tokens that make the entropy fall are left out (`clip-cov`) or get a KL penalty (`kl-cov`)."""

import dataclasses

from assay.collect import Refill
from assay.credit import GroupRelative
from assay.curate import FirstGroups, MixedGroups
from assay.methods.gates.clip_cov.covariance import Covariance
from assay.objective import KL, Bounded, Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

CLIP_COV = Recipe(
    name="clip-cov",
    title="The Entropy Mechanism of Reinforcement Learning for Reasoning Language Models",
    paper="2505.22617",
    claim="a few tokens whose log-prob and advantage vary together make the entropy collapse: without a gradient on "
    "some of them a 7B model is 2.0 points above GRPO on seven sets of mathematics",
    mechanism=Mechanism(
        expand=(Refill(max_rounds=10),),
        curate=(MixedGroups(by="accuracy"), FirstGroups()),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=Clip(low=1.0, high=1.0),
            keep=(Covariance(share=2e-4, pick="draw", low=1.0, high=5.0, open=1.0, side="out"),),
            aggregate=TokenMean(),
        ),
    ),
    scale=Scale(
        num_prompts=256,
        group_size=8,
        max_new=8192,
        learning_rate=1e-6,
        num_steps=500,
        oversample=3,
        num_minibatches=8,
    ),
    notes=(
        "Values are those of the released script for 7B; num_steps is ours.",
        "Means, candidates and draws are those of the optimiser step. At the first update of a rollout the ratio is "
        "1, and the covariance is that of the policy that sampled.",
        "The band from 1 to 5 is in nats times standard deviations: it presumes advantages in units of their standard "
        "deviation, and long answers. A share of 2e-4 is one token in 5000; a step with fewer tokens loses one.",
        "If all advantages are 0, no token is selected.",
    ),
    deviations=(
        "verl selects within each micro-batch, at least one token in each, so that the share depends on the number of "
        "micro-batches.",
    ),
)

KL_COV = dataclasses.replace(
    CLIP_COV,
    name="kl-cov",
    claim="a KL penalty on those tokens alone keeps the entropy ten times higher: 2.0 points above GRPO with 7B, 6.4 "
    "with 32B",
    mechanism=dataclasses.replace(
        CLIP_COV.mechanism,
        objective=Objective(
            gate=Bounded(most=None),
            aggregate=TokenMean(),
            regularise=(KL(weight=1.0, estimator="distance", anchor="old", over=Covariance(share=2e-3, pick="top")),),
        ),
    ),
    notes=(
        "Values are those of the released script for 7B (share 2e-3; 2e-4 with 32B); num_steps is ours.",
        "The penalty is |log pi - log pi_old| on the tokens of the largest covariance of the optimiser step. Its "
        "gradient is 0 where the policy has not moved, so with one update a rollout it does nothing.",
        "No token is clipped. The script names a clip of 0.2, but its loss does not read it.",
        "Where all advantages are 0 nothing is selected.",
    ),
)
