"""Tokens of low entropy get a tight clip and a KL penalty, tokens of high entropy a wide clip and none."""

from assay.credit import GroupRelative
from assay.curate import MixedGroups
from assay.objective import KL, Case, Clip, HighEntropy, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

ARCHER = Recipe(
    name="archer",
    title="Stabilizing Knowledge, Promoting Reasoning: Dual-Token Constraints for RLVR",
    paper="2507.15778",
    claim="a tight clip and a KL penalty for tokens of low entropy, a wide clip and no penalty for the fifth of an "
    "answer with the highest entropy: above DAPO, at the state of the art of 1.5B models on mathematics and code",
    mechanism=Mechanism(
        curate=(MixedGroups(by="accuracy"),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2, dual=10.0),
            cases=(Case(over=HighEntropy(share=0.2, by="row"), gate=Clip(low=0.5, high=0.5, dual=10.0)),),
            aggregate=TokenMean(),
            regularise=(
                KL(weight=0.001, estimator="k3", over=HighEntropy(share=0.2, by="row", side="low"), mean="own"),
            ),
        ),
    ),
    scale=Scale(
        num_prompts=64,
        group_size=16,
        max_new=32768,
        learning_rate=1e-6,
        num_steps=500,
        num_minibatches=2,
        num_epochs=3,
        warmup_steps=60,
        weight_decay=0.1,
    ),
    notes=(
        "Values are those of the published code and its only script, which trains 1.5B on code "
        "(wizard-III/ArcherCodeR); num_steps is ours. The paper states the same clips, KL weight, share, batch and "
        "length (5.1). The script warms up for 10 batches, which are 60 updates. Tokens of high entropy have no KL "
        "penalty.",
        "The entropy is that of the current policy. The quantile is taken within each answer, and a token exactly at "
        "it counts as one of low entropy.",
        "The KL penalty is averaged over the tokens of low entropy alone, so that its weight does not depend on their "
        "share. Groups whose rewards are all equal are dropped and not replaced.",
    ),
    deviations=(
        "The published code calls the mask of the low-entropy tokens the high-entropy mask, and inverts it twice.",
        "The published script asks for the mean over tokens, but its micro-batches hold one answer each and each has "
        "its own mean. In effect that is a mean over answers of means over tokens, as in the paper's formula. Here "
        "the mean runs over the tokens of the mini-batch.",
    ),
)
