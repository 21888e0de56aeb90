"""Right answers raise the likeliest candidates for a token too, and wrong answers lower the likeliest token more."""

from assay.credit import GroupRelative
from assay.methods.shaping.simko.candidates import Candidates
from assay.methods.shaping.simko.gate import ClipLikeliest
from assay.methods.shaping.simko.term import ShareWithCandidates
from assay.objective import Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

SIMKO = Recipe(
    name="simko",
    title="SimKO: Simple Pass@K Policy Optimization",
    paper="2510.14807",
    claim="at tokens of high entropy right answers raise the likeliest candidates too and wrong ones lower the "
    "likeliest token more: pass@k above GRPO's for many k on six mathematics and two logic benchmarks, without losing "
    "pass@1",
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
        "The verdict says whether an answer is right. A token counts as the likeliest if none of the stored "
        "candidates is likelier under the current weights; a token that has become the likeliest during the step, "
        "without being a candidate, is overlooked.",
        "The candidates of a step are found by a forward pass of their own, without gradient.",
    ),
    deviations=(
        "The published code takes the likeliest tokens anew at every forward pass and divides by the stored log-probs "
        "of the old ones: after the first update a ratio may compare two different tokens. Here the tokens are "
        "stored.",
        "The published code recognises right answers by a score of exactly 1, which shaped rewards never have.",
        "The published configuration has an entropy bonus of 0.001, which the code computes without gradient, so that "
        "it does nothing.",
    ),
)
