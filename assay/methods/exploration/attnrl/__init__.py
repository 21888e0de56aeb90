"""Answers fork at steps to which later steps attend, more often for hard problems, and batches grow to stay useful."""

from assay.curate import MixedGroups
from assay.methods.exploration.attnrl.batch import AdaptBatch, DrawMore
from assay.methods.exploration.attnrl.credit import SubtreeRelative
from assay.methods.exploration.attnrl.forks import ForkAttended
from assay.objective import KL, Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

ATTNRL = Recipe(
    name="attnrl",
    title="Attention as a Compass: Efficient Exploration for Process-Supervised RL in Reasoning Models",
    paper="2509.26628",
    claim="forks at steps that later steps attend to, with DeepSeek-R1-Distill-Qwen-1.5B and 7B: on average better "
    "than GRPO and TreeRL on six mathematics benchmarks, in fewer steps",
    missing="first answers and branches of neighbouring steps that are sampled in one call, so that branches are one "
    "step off policy, and a running mean of scores over steps",
    mechanism=Mechanism(
        expand=(DrawMore(), ForkAttended(places=2, gap=4, share=0.8, apart=512)),
        curate=(MixedGroups(by="accuracy"),),
        credit=SubtreeRelative(),
        objective=Objective(
            gate=Clip(low=0.2, high=0.28),
            aggregate=TokenMean(),
            regularise=(KL(weight=0.001, estimator="k3"),),
        ),
        remember=(AdaptBatch(answers=5, rate=0.1, limit=4.0),),
    ),
    scale=Scale(num_prompts=64, group_size=6, max_new=8192, learning_rate=1e-6, num_steps=500),
    notes=(
        "Six answers, two forks with one branch each, the gap of 4 steps, the quantile of 0.8, 512 tokens between "
        "forks, the number of answers that fork, credit, clip, KL penalty, rate and length are the published code's; "
        "num_steps is ours. One update a step is ours too, with which the clip cannot act: the release takes six to "
        "ten, of 192 rows each.",
        "The policy reads its answers once more to say which steps are attended to. Only the engines `torch` and "
        "`native` can, with one learner; others refuse, for their kernels never hold the scores.",
        "A problem whose answers are all right forks if its mean score is above that of such problems of the same "
        "step; the published code compares with a running mean over steps.",
        "The number of problems never falls below num_prompts nor rises above four times that: both bounds are ours.",
        "Steps end at blank lines, in compact wording at commas. An answer with fewer than `gap` + 2 steps has no step "
        "that counts, and forks at its earliest steps: set `gap` to 1 for small models.",
        "Forks that fill up to two keep the distance too; in the published code those may lie anywhere.",
        "A branch has the tokens that its answer left of the limit, and joins the group of that answer.",
    ),
)
