"""Imitation and reinforcement on one batch, weighed by entropy."""

from assay.ask import Expert
from assay.methods.srft.credit import Demonstrated
from assay.methods.srft.gate import ByEntropy
from assay.methods.srft.term import LikelihoodByEntropy
from assay.objective import Case, Entropy, FixedLength, NoRatio, Objective, Probability, Shaped, Written
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

SRFT = Recipe(
    name="srft",
    title="SRFT: A Single-Stage Method with Supervised and Reinforcement Fine-Tuning for Reasoning",
    paper="2506.19767",
    claim="imitation and reinforcement on one batch, weighed by the policy's entropy: 59.1 on five mathematics sets, "
    "9.0 above the best zero-RL method, and 62.5 (+10.9) out of distribution, with Qwen2.5-Math-7B",
    mechanism=Mechanism(
        ask=(Expert(count=1),),
        credit=Demonstrated(ddof=1, epsilon=1e-6),
        objective=Objective(
            ratio=NoRatio(),
            gate=ByEntropy(weight=0.1),
            cases=(Case(over=Written("injected"), ratio=Probability(), gate=Shaped(gamma=0.1)),),
            aggregate=FixedLength(),
            regularise=(Entropy(weight=0.001, mean="own"),),
            extra=(LikelihoodByEntropy(weight=0.5, over=Written("injected")),),
            injected="train",
        ),
    ),
    scale=Scale(num_prompts=128, group_size=9, max_new=8192, learning_rate=1e-6, num_steps=500),
    notes=(
        "Three terms: demonstrations imitated with 0.5 exp(-h); demonstrations by their advantage in the group of own "
        "answers and themselves, shaped as in LUFFY; own answers by +-1, the right ones weighed by 0.1 exp(h).",
        "An entropy bonus of 0.001, a mean over all tokens that train: no term of the paper's loss. The trainer of "
        "LUFFY, on which the authors' code is built, has it, their script is reported to keep it at 0.001, and the "
        "re-implementation (Unify-Post-Training) does.",
        "h is the mean entropy of the answer's own tokens under the current policy, without a gradient: our reading.",
        "8 own answers and a demonstration for each problem; batch, rate and aggregation are those of its relatives, "
        "ours here. ddof and epsilon are ours.",
        "The push down on wrong answers is not bounded: it leans on clip_norm, and on wrong answers becoming few.",
    ),
    deviations=(
        "The authors' code is reported to weigh the imitation by exp(+h); the paper's formula has exp(-h), as here.",
        "Re-implementations that clip hold the log-prob, not the ratio, to [0.8, 1.2]: it must be off.",
    ),
)
