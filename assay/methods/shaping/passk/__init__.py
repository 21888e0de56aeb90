"""The objective is pass@k, the probability that one of k answers is right."""

from assay.methods.shaping.passk.credit import PassK
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

PASSK = Recipe(
    name="passk",
    title="Pass@k Training for Adaptively Balancing Exploration and Exploitation of Large Reasoning Models",
    paper="2508.10751",
    claim="a model trained for the best of k answers explores: pass@k rises while pass@1 stays, and training for "
    "pass@1 afterwards takes a 7B model above much larger ones on puzzles",
    missing="the adaptive mix with the advantages of pass@1, by the pass rate of a prompt",
    mechanism=Mechanism(
        credit=PassK(k=8, kind="analytic", epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=128, group_size=32, max_new=4096, learning_rate=1e-6, num_steps=400),
    notes=(
        "The advantage and its epsilon are those of the released code, which contains nothing else: k, groups of 32, "
        "clip, aggregation and scale are ours. The standard deviation is that of a coin, sqrt(R (1 - R)), with ddof "
        "0.",
        "kind=full and kind=bootstrap are the paper's two estimators by sampling. The sum over drawn sets is about k "
        "times the analytic value, which is the mean over all sets.",
        "Advantages are 0 in a group with fewer than k wrong answers, because any k of its answers include a right "
        "one.",
    ),
    deviations=(
        "The verdict says whether an answer is right; the released code tests for a reward of 1, and leaves other "
        "rewards as they are. Graded rewards need another estimator (2505.15201).",
        "verl's grpo_passk (2503.19595) is another method: only the best answer has an advantage, its lead over the "
        "second.",
    ),
)
