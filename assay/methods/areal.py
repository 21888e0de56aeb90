"""The anchor of the clip and the sampler are two policies; answers are exactly four steps old."""

from assay.collect import Lagged
from assay.credit import GroupRelative
from assay.memory import Follow
from assay.objective import Clip, Drop, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale, behind

STALENESS = 4


AREAL = Recipe(
    name="areal",
    title="AReaL: A Large-Scale Asynchronous Reinforcement Learning System for Language Reasoning",
    paper="2505.24298",
    claim="generation never waits; who sampled and who is the anchor of the clip are two policies: 2.77 times faster "
    "than synchronous systems at equal or better accuracy",
    missing="generation beside training: answers are a constant number of steps old here, and written before "
    "the step begins",
    mechanism=Mechanism(
        collect=(Lagged(model="behaviour"),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), correct=(Drop(low=0.0, high=5.0),), aggregate=TokenMean()),
        remember=(Follow(every=1),),
    ),
    scale=Scale(num_prompts=512, group_size=16, max_new=27648, learning_rate=2e-5, num_steps=250, num_minibatches=4),
    models=behind(STALENESS),
    notes=(
        "Clip, 512 prompts of 16 answers, lengths, 4 mini-batches, the rate and 250 steps are those of the paper's "
        "tables 1 and 3, read in an account of them. The cap of 5, above which a token is dropped, is that of the "
        "configurations of the released code: v0.3 for code, today's for mathematics.",
        "Without its chance: answers are those of the policy exactly 4 steps ago, where the paper bounds the lag by 4 "
        "versions for code and by 8 for mathematics. `assay.scale.behind` makes chains of other lengths; each "
        "follower is a copy of the weights.",
        "The anchor of the clip is the policy before the first update of the step, scored by the learner.",
        "An answer is by one version. In AReaL a new version takes over in the middle of it.",
        "Advantages are in units of the group's deviation, which is ours: the v0.3 configurations whiten over the "
        "batch.",
    ),
    deviations=(
        "Current AReaL with the decoupled loss but without a rejection rule applies no weight for the sampler at all; "
        "it warns.",
        "Its filter by sequences has the geometric mean for the weight too.",
    ),
)
