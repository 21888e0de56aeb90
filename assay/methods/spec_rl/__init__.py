"""The answers of the last epoch are verified drafts of this one."""

import math

from assay.credit import GroupRelative
from assay.forwards import Distributions
from assay.methods.spec_rl.drafts import Drafts
from assay.methods.spec_rl.speculate import Speculate
from assay.objective import KL, Clip, Entropy, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale
from assay.source import Epochs

SPEC_RL = Recipe(
    name="spec-rl",
    title="SPEC-RL: Accelerating On-Policy Reinforcement Learning via Speculative Rollouts",
    paper="2509.23232",
    claim="last epoch's answers, verified as drafts by today's policy, save half to two thirds of the time of rollouts",
    mechanism=Mechanism(
        source=Epochs(size=6144),
        ask=(Speculate(lenience=math.exp(0.5), residual=True),),
        forwards=(Distributions(k=128),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2, dual=3.0),
            aggregate=TokenMean(),
            regularise=(KL(weight=1e-4, estimator="k3"), Entropy(weight=0.001)),
        ),
        remember=(Drafts(problems=6144),),
    ),
    scale=Scale(
        num_prompts=1024,
        group_size=8,
        max_new=4096,
        learning_rate=5e-7,
        num_steps=100,
        num_minibatches=4,
        weight_decay=0.01,
    ),
    notes=(
        "Values are those of the released script for 1.7B (lenience e^0.5, 6144 problems, 8 answers) and of the "
        "trainer that it configures (clips, weight decay).",
        "What is unbiased: with the residual draw and a lenience of at most 1, an answer is distributed as one of "
        "today's policy, whatever wrote the draft. The paper's lenience of e^0.5 is biased towards the drafts.",
        "The residual draw is ours. The release (residual=no) draws the first new token from today's policy itself, "
        "which is biased at every lenience, towards tokens that both policies like.",
        "Answers of one group keep their drafts one by one: what a group had in common an epoch ago, it keeps.",
        "The release repeats one constant seed of the acceptance test every step and matches drafts by their place in "
        "a fixed order of data; here the numbers are new in every step and drafts belong to problems.",
        "The residual needs what every token of a draft was drawn from. Kept are the log-probs of the 128 likeliest "
        "tokens, by a pass without gradient a step and 1 KB a token; drafts are compared over these and one symbol for "
        "all others. The rule is exact over any such partition, so a lenience of at most 1 stays unbiased; what it "
        "costs is that a token of the draft among the others stays only as likely as today's policy draws it there.",
        "The first new token of the residual draw is part of the given prefix: no decoding step is spent on it.",
    ),
)
