"""A reward model ranks the answers among the right ones and among the wrong ones."""

from assay.credit import GroupRelative
from assay.methods.rew_qwen.reward import ModelScore
from assay.objective import KL, Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

REW_QWEN = Recipe(
    name="rew-qwen",
    title="Qwen2.5-Math Technical Report: Toward Mathematical Expert Model via Self-Improvement",
    paper="2409.12122",
    claim="a reward model ranks answers within right and within wrong ones, and never across: part of "
    "Qwen2.5-Math-Instruct, without a number of its own",
    missing="the reward model, which you have to provide, and the report's pre-training and fine-tuning",
    mechanism=Mechanism(
        reward=(Outcome(right=1.0, wrong=0.0), ModelScore(alpha=0.5, score="score")),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2), aggregate=SequenceMean(), regularise=(KL(weight=1e-3, estimator="k3"),)
        ),
    ),
    scale=Scale(num_prompts=128, group_size=32, max_new=2048, learning_rate=1e-5, num_steps=500, num_minibatches=8),
    notes=(
        "alpha, 32 answers a query, KL, 4096 answers in batches of 512 and the rate are those of the report for 7B; "
        "clip and aggregation are GRPO's; max_new, num_steps, ddof and epsilon are ours.",
        "The score comes from the verdict, by its name: a task's verifier or `--reward` may provide it. Without a "
        "score s = 0, and the method is GRPO.",
        "If a group has right answers only, the division by its standard deviation scales small differences of score "
        "up to unit size.",
    ),
)
