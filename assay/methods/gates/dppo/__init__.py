"""A token is masked if its probability has moved too far from the sampler's."""

import dataclasses

from assay.credit import GroupRelative
from assay.methods.gates.dppo.near import Near
from assay.objective import Bounded, FixedLength, Objective
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

DPPO = Recipe(
    name="dppo",
    title="Rethinking the Trust Region in LLM Reinforcement Learning",
    paper="2602.04879",
    claim="a clip of the ratio is too strict for rare tokens and too lax for frequent ones; a bound on the difference "
    "of probabilities is stable without router replay, above GRPO with either clip on AIME 2024 with Qwen3-30B-A3B",
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
        "verl's; the authors' release has 10 by default, and their recipe none.",
        "The old policy is the sampler: ratio and mask use the log-probs that it reported, so that its mismatch with "
        "the learner counts as movement too.",
        "Masked tokens stay in the denominator of the mean.",
        "In a vocabulary of 50 tokens few are rare, and the bound acts much like one on the ratio. Choose the bound "
        "by the share of tokens that it masks, 1 to 5 %.",
    ),
    deviations=(
        "verl compares with log-probs that the learner computes anew, unless its bypass mode is on.",
        "prime-rl masks at 0.2 and adds 1e-3 (log w)^2 on all tokens; the method that it calls `ipo` masks |p - q| > "
        "0.1 in either direction.",
    ),
)

DPPO_KL = dataclasses.replace(
    DPPO,
    name="dppo-kl",
    claim='the same method, with a bound on the KL divergence between the binary choices "this token or another"',
    mechanism=dataclasses.replace(
        DPPO.mechanism,
        objective=dataclasses.replace(DPPO.mechanism.objective, keep=(Near(kind="kl", low=0.05, high=0.05),)),
    ),
)
