"""The clip's old policy and the policy that sampled are two; answers are exactly four steps old."""

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
    claim="generation never waits for training, because the policy that sampled and the old policy of the clip are "
    "two: 2.77 times faster than synchronous systems at equal or better accuracy",
    missing="generation that runs beside training: here answers come from a policy a constant number of steps old, "
    "and are written before the step begins",
    mechanism=Mechanism(
        collect=(Lagged(model="behaviour"),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), correct=(Drop(low=0.0, high=5.0),), aggregate=TokenMean()),
        remember=(Follow(every=1),),
    ),
    scale=Scale(num_prompts=512, group_size=16, max_new=27648, learning_rate=2e-5, num_steps=250, num_minibatches=4),
    models=behind(STALENESS),
    notes=(
        "The clip, 512 prompts of 16 answers, lengths, 4 mini-batches, learning rate and 250 steps are those of the "
        "paper's tables 1 and 3, which we know from an account of the paper. A token with an importance weight above "
        "5 is dropped: that bound is the one of the released configurations, v0.3 for code and today's for "
        "mathematics.",
        "The lag is constant here: answers come from the policy of exactly 4 steps ago. The paper bounds the lag by 4 "
        "versions for code and by 8 for mathematics. `assay.scale.behind` makes chains of other lengths; each member "
        "of the chain is a copy of the weights.",
        "The old policy of the clip is the policy before the first update of the step; the learner computes its "
        "log-probs.",
        "One version of the policy writes the whole answer. In AReaL a new version takes over in the middle of an "
        "answer.",
        "Advantages are divided by the standard deviation of the group, which is our choice: the v0.3 configurations "
        "whiten over the batch.",
    ),
    deviations=(
        "Current AReaL with the decoupled loss but without a rejection rule does not weigh tokens by the sampler at "
        "all; it prints a warning.",
        "AReaL's filter of whole sequences also uses the geometric mean as the weight.",
    ),
)
