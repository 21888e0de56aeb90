"""Self-certainty is the only reward: how far the policy's distribution is from the uniform one, KL(U, pi)."""

from assay.forwards import Agreement
from assay.objective import KL, TokenMean
from assay.recipe import Like
from assay.reward import Certainty

RLIF = Like(
    "grpo",
    name="rlif",
    title="Learning to Reason without External Rewards",
    paper="2505.19590",
    claim="self-certainty in the place of rewards (Intuitor): as good as GRPO with gold answers on MATH and GSM8K, and "
    "65% more on LiveCodeBench with Qwen2.5-3B",
    changes={
        "mechanism.reward": (Certainty(form="self-certainty"),),
        "mechanism.forwards": (Agreement(),),
        "mechanism.objective.aggregate": TokenMean(),
        "mechanism.objective.regularise": (KL(weight=5e-3, estimator="k3"),),
        "scale.num_prompts": 128,
        "scale.group_size": 7,
        "scale.max_new": 3072,
        "scale.learning_rate": 3e-6,
        "scale.schedule": "cosine",
        "scale.warmup_steps": 6,
        "scale.num_steps": 58,
    },
    notes=(
        "r = mean_t KL(U, pi(.|y_<t)) over the tokens of the answer, its end included, at the temperature of sampling "
        "and with the current weights. A frozen scorer is exploited, says the paper.",
        "128 prompts of 7 answers, 3,072 tokens, rate, schedule and KL are the paper's; 58 steps are one epoch of MATH "
        "and 6 of them its tenth of warm-up. The loss is the token mean of the published code.",
    ),
    deviations=(
        "The published code leaves out log V, which is the same for all answers of a group.",
        "Ids that no token has count in the mean over the vocabulary, as in the published code: a vocabulary that is "
        "padded has a higher reward, the same for all answers.",
        "TRL's port adds the advantage to that of ordinary rewards; here a second reward is added to the first.",
    ),
)
