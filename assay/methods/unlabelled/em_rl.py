"""Low entropy is the reward, or the loss itself: of whole trajectories, or summed over tokens."""

from assay.credit import Constant
from assay.forwards import Agreement, TokenKL
from assay.objective import Entropy, NoRatio, SequenceSum, Shut
from assay.recipe import Like
from assay.reward import Certainty

TITLE = "The Unreasonable Effectiveness of Entropy Minimization in LLM Reasoning"
SCALE = {"scale.num_prompts": 512, "scale.group_size": 4, "scale.max_new": 3072, "scale.num_steps": 117}
ABOUT = "4 answers of 512 prompts, 3,072 tokens and 117 steps, one epoch of 60,000 problems, are ours."

EM_RL = Like(
    "rloo",
    name="em-rl",
    title=TITLE,
    paper="2505.15134",
    claim="the log-probability of an answer as its reward: about 11% on average over mathematics and code with "
    "Qwen2.5-7B, level with RLOO and GRPO on 60,000 labels",
    missing="EM-INF, which minimises the entropy of logits while it decodes and trains nothing",
    changes={
        "mechanism.reward": (Certainty(form="trajectory"),),
        "mechanism.forwards": (TokenKL(weight=1e-3), Agreement()),
        **SCALE,
    },
    notes=(
        "r = sum_t log pi(y_t): a sum over the answer, as in the paper's table of gradients, so that short answers "
        "earn more. The weight of the KL is the paper's, the estimator is leave-one-out.",
        ABOUT,
    ),
)

EM_RL_TOKEN = Like(
    "em-rl",
    name="em-rl-token",
    claim="the negative sum of token entropies as the reward: level with RLOO on 60,000 labels on AMC (57.8)",
    changes={"mechanism.reward": (Certainty(form="token-entropy"),)},
    notes=("r = - sum_t H(pi(.|y_<t)), at the temperature of sampling.", ABOUT),
)

EM_FT = Like(
    "em-rl",
    name="em-ft",
    claim="descent of the entropy of the policy's own answers, without any reward: about 8% on average with Qwen2.5-7B",
    changes={
        "mechanism.reward": (Certainty(form="token-entropy"),),
        "mechanism.forwards": (Agreement(),),
        "mechanism.credit": Constant(value=0.0),
        "mechanism.objective.ratio": NoRatio(),
        "mechanism.objective.gate": Shut(),
        "mechanism.objective.aggregate": SequenceSum(),
        "mechanism.objective.extra": (Entropy(weight=-1.0),),
    },
    notes=(
        "The loss is sum_t H(pi(.|y_<t)) over own answers, and its gradient goes through the entropies alone: an "
        "entropy bonus of weight -1. The reward is computed for the metrics; the gate is shut.",
        ABOUT,
    ),
)
