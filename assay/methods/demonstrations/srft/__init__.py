"""Imitation and reinforcement on one batch, weighted by entropy."""

from assay.ask import Expert
from assay.methods.demonstrations.srft.credit import Demonstrated
from assay.methods.demonstrations.srft.gate import ByEntropy
from assay.methods.demonstrations.srft.term import LikelihoodByEntropy
from assay.objective import Case, Entropy, FixedLength, NoRatio, Objective, Probability, Shaped, Written
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

SRFT = Recipe(
    name="srft",
    title="SRFT: A Single-Stage Method with Supervised and Reinforcement Fine-Tuning for Reasoning",
    paper="2506.19767",
    claim="imitation and reinforcement on one batch, weighted by the policy's entropy: 59.1 on five mathematics sets, "
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
        "The loss has three terms. Demonstrations are imitated with weight 0.5 exp(-h). Demonstrations also train by "
        "their advantage in the group with the policy's own answers, with LUFFY's shaping. The policy's own answers "
        "have advantages +1 and -1, the right ones weighted by 0.1 exp(h).",
        "The entropy bonus of 0.001, a mean over all tokens that train, is not in the paper's loss. The trainer of "
        "LUFFY, on which the authors' code is built, has it, their script is reported to keep it at 0.001, and the "
        "re-implementation (Unify-Post-Training) does.",
        "h is the mean entropy of the answer's own tokens under the current policy, without a gradient; that is our "
        "reading.",
        "Each problem has 8 answers and a demonstration. Batch, rate and aggregation are those of related methods, "
        "our choice here; ddof and epsilon are ours.",
        "The gradient that pushes wrong answers down is not bounded: only clip_norm, and ever fewer wrong answers, "
        "limit it.",
    ),
    deviations=(
        "The authors' code is reported to weigh the imitation by exp(+h); the paper's formula has exp(-h), as here.",
        "Re-implementations that clip clamp the log-prob, not the ratio, to [0.8, 1.2]; leave that clip off.",
    ),
)
