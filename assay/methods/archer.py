"""A tight clip and KL for sure tokens, a wide clip for hesitant ones."""

from assay.credit import GroupRelative
from assay.curate import MixedGroups
from assay.objective import KL, Case, Clip, HighEntropy, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

ARCHER = Recipe(
    name="archer",
    title="Stabilizing Knowledge, Promoting Reasoning: Dual-Token Constraints for RLVR",
    paper="2507.15778",
    claim="a tight clip and a KL for tokens of low entropy, a wide clip and none for the hesitant fifth of an answer: "
    "above DAPO, at the state of the art of 1.5B models on mathematics and code",
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
        "Values are those of the published code and its only script, for code with 1.5B (wizard-III/ArcherCodeR); "
        "num_steps is ours. Clips, KL, share, batch and length are the paper's too (5.1). The script warms up for 10 "
        "batches, which are 60 updates. Hesitant tokens have no KL.",
        "Entropy is that of the current policy; the quantile is each answer's own, and a token at it counts as low.",
        "KL is averaged over the tokens it is for, so that its weight does not depend on the share of them. Groups "
        "without differences are left out and not replaced.",
    ),
    deviations=(
        "The published code calls the mask of the low-entropy tokens the high-entropy mask, inverted twice.",
        "Its script asks for the mean over tokens and has micro-batches of one answer, each with its own mean: in "
        "effect a mean over answers of means over their tokens, as the paper's formula is. Here it is over the tokens "
        "of the mini-batch.",
    ),
)
