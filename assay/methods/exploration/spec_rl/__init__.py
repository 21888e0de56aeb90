"""The answers of the last epoch are drafts, which the current policy verifies and completes."""

import math

from assay.credit import GroupRelative
from assay.methods.exploration.spec_rl.distributions import Distributions
from assay.methods.exploration.spec_rl.drafts import Drafts
from assay.methods.exploration.spec_rl.speculate import Speculate
from assay.objective import KL, Clip, Entropy, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale
from assay.source import Epochs

SPEC_RL = Recipe(
    name="spec-rl",
    title="SPEC-RL: Accelerating On-Policy Reinforcement Learning via Speculative Rollouts",
    paper="2509.23232",
    claim="the last epoch's answers, verified as drafts by the current policy, save half to two thirds of the time of "
    "rollouts",
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
        "With the residual draw and a lenience of at most 1 the method is unbiased: an answer has the distribution of "
        "the current policy, whatever wrote the draft. The paper's lenience of e^0.5 is biased towards the drafts.",
        "The residual draw is ours. The release (residual=no) draws the first new token from the current policy "
        "itself, which is biased at every lenience, towards tokens that are likely under both policies.",
        "Each answer of a group has its own draft, so that similarities within a group persist from one epoch to the "
        "next.",
        "The release uses one constant seed for the acceptance test of every step, and matches drafts by their "
        "position in a fixed order of the data; here every step draws new numbers, and drafts belong to problems.",
        "The residual draw needs the distribution from which each token of a draft was drawn. A forward pass without "
        "gradient stores the log-probs of the 128 likeliest tokens, 1 KB a token; policies are compared over these "
        "tokens and one symbol for all others. The rule of acceptance is exact over any such partition, so that a "
        "lenience of at most 1 stays unbiased. The price: a draft's token among the others stays only with the "
        "probability that the current policy draws it from among the others.",
        "The first new token of the residual draw is part of the given prefix, so that it costs no decoding step.",
    ),
)
