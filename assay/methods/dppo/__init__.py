"""A token is dropped where its probability has moved too far from the sampler's."""

import dataclasses

from assay.credit import GroupRelative
from assay.methods.dppo.near import Near
from assay.objective import Bounded, FixedLength, Objective
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

DPPO = Recipe(
    name="dppo",
    title="Rethinking the Trust Region in LLM Reinforcement Learning",
    paper="2602.04879",
    claim="a ratio is too strict with rare tokens and too lax with frequent ones: a bound on the difference of their "
    "probabilities is stable without router replay, above GRPO with either clip on AIME 2024 with Qwen3-30B-A3B",
    mechanism=Mechanism(
        credit=GroupRelative(scale="none"),
        objective=Objective(
            gate=Bounded(least=0.0, most=20.0),
            anchor="sampler",
            keep=(Near(kind="tv", low=0.15, high=0.15),),
            aggregate=FixedLength(),
        ),
    ),
    scale=Scale(num_prompts=256, group_size=16, max_new=16384, learning_rate=1e-6, num_steps=500, num_minibatches=8),
    notes=(
        "Values are those of the authors' recipe; max_new and num_steps are ours. The cap of 20 on the ratio is "
        "verl's; the release has 10 by default, and none in the recipe.",
        "Ratio and mask are taken to what the sampler said, so that its drift from the learner is within the region.",
        "Masked tokens stay in the denominator.",
        "With a vocabulary of 50 few tokens are rare: the bound then is much like that of a ratio; choose it by the "
        "share that it masks, 1 to 5 %.",
    ),
    deviations=(
        "verl compares with log-probs that the learner recomputes, unless its bypass mode is on.",
        "prime-rl masks at 0.2 and adds 1e-3 (log w)^2 on all tokens; its `ipo` is a mask of |p - q| > 0.1 either way.",
    ),
)

DPPO_KL = dataclasses.replace(
    DPPO,
    name="dppo-kl",
    claim="the same with a bound on the divergence between token and no token",
    mechanism=dataclasses.replace(
        DPPO.mechanism,
        objective=dataclasses.replace(DPPO.mechanism.objective, keep=(Near(kind="kl", low=0.05, high=0.05),)),
    ),
)
