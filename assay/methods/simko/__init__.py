"""Right answers lift the likeliest candidates of a token too, and wrong ones lower the likeliest more."""

from assay.credit import GroupRelative
from assay.methods.simko.candidates import Candidates
from assay.methods.simko.gate import ClipLikeliest
from assay.methods.simko.term import ShareWithCandidates
from assay.objective import Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

SIMKO = Recipe(
    name="simko",
    title="SimKO: Simple Pass@K Policy Optimization",
    paper="2510.14807",
    claim="at hesitant tokens right answers lift the likeliest candidates too and wrong ones lower the very likeliest "
    "more: pass@k above GRPO's for many k on six mathematics and two logic benchmarks, without losing pass@1",
    mechanism=Mechanism(
        forwards=(Candidates(k=3),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=ClipLikeliest(low=0.2, high=0.2, factor=1.1, share=0.2),
            aggregate=TokenMean(),
            extra=(ShareWithCandidates(weight=0.01, low=0.2, high=0.2, share=0.2),),
        ),
    ),
    scale=Scale(num_prompts=1024, group_size=8, max_new=3072, learning_rate=1e-6, num_steps=140, num_minibatches=4),
    notes=(
        "All values are those of the published code and its script for Qwen2.5-Math-7B (CLR-Lab/SimKO); the steps are "
        "its 20 epochs over the 7500 problems of MATH.",
        "Right is what the verdict says. A token is the likeliest if none of the stored candidates is likelier under "
        "the current weights; a newcomer among the likeliest since the step began is overlooked.",
        "The candidates of a step are found by a pass of their own, without a gradient.",
    ),
    deviations=(
        "The published code takes the likeliest ids anew at every forward and divides by the stored log-probs of the "
        "old ones: after the first update a ratio may compare two different tokens. Here the ids are stored.",
        "It tells right answers by a score of exactly 1, which shaped rewards never have.",
        "Its configuration has an entropy bonus of 0.001, which is taken without gradient and does nothing.",
    ),
)
