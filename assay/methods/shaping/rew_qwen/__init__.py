"""A reward model ranks the answers among the right ones and among the wrong ones."""

from assay.credit import GroupRelative
from assay.forwards import RewardModel
from assay.methods.shaping.rew_qwen.reward import ModelScore
from assay.objective import KL, Clip, Objective, SequenceMean
from assay.recipe import Like, Mechanism, Recipe
from assay.reward import Affine, LearntScore, Outcome, Squashed
from assay.scale import Model, Scale

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

SHAPE_RM = Like(
    "rew-qwen",
    name="shape-rm",
    claim="a reward model of the run's own, which learns while the policy trains, ranks answers within right and "
    "within wrong ones, and never across",
    missing="ratings between right and wrong, and the report's pre-training and fine-tuning",
    changes={
        "mechanism.reward": (
            Outcome(right=1.0, wrong=0.0),
            Affine(of=Squashed(of=LearntScore(model="reward-model"), times=0.5), plus=-1.0),
        ),
        "mechanism.forwards": (RewardModel(model="reward-model", of=Outcome(), loss="pairs", rate=5.0),),
        "models": {"policy": Model(), "reward-model": Model(output="value")},
    },
    notes=(
        "r = sigmoid(0.5 s) - 1 + 1[right], where s is the score of the model `reward-model`. All values but those of "
        "the reward model are those of `rew-qwen`.",
        "The reward model is trained as the report says: a mean over all pairs of a right and a wrong answer of a "
        "group, of -log sigmoid of the difference of their scores. The report trains it once, before, on answers of "
        "another model; here it learns from the answers of each step after these were rewarded, so that it never "
        "falls behind the policy. It begins with s = 0 for every answer, which is `rew-qwen` without scores.",
        "Pairs teach differences alone: how far a score is from 0, and so how much of the sigmoid is used, drifts. "
        "`--mechanism.forwards.0.loss labels` ties the score to the probability of being right.",
        "If a group has right answers only, the division by its standard deviation scales small differences of score "
        "up to unit size.",
    ),
)
