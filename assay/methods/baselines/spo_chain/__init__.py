"""Answers are cut where the policy was unsure; each segment's credit is what it adds to the sampled value."""

from assay.curate import StatisticsOnly, UnsureTokens
from assay.curate.continued import CONTINUATION
from assay.methods.baselines.spo_chain.cuts import ContinueCuts
from assay.recipe import Like

SPO_CHAIN = Like(
    "vine-ppo",
    name="spo-chain",
    title="Segment Policy Optimization: Effective Segment-Level Credit Assignment in RL for Large Language Models",
    paper="2505.23564",
    claim="credit for segments, cut where the policy is unsure, with values from sampled continuations: 6 to 12 points "
    "over PPO and GRPO on GSM8K",
    changes={
        "mechanism.expand": (ContinueCuts(branches=9, below=0.9, every=5),),
        "mechanism.curate": (StatisticsOnly(tag=CONTINUATION), UnsureTokens(below=0.9)),
    },
    notes=(
        "Nine continuations, the bound 0.9 of cuts and of the mask, and five improbable tokens in a segment are those "
        "of the published code. Scale, whitening, clip and KL penalty are those of `vine-ppo`, on whose code it "
        "is built.",
        "A segment begins before the sixth, eleventh, ... improbable token, so that the value is that of the choice "
        "that is about to be made.",
        "Probabilities are those of the full softmax at the temperature of sampling.",
        "The mean of the loss is over the tokens that train.",
    ),
)
