"""The answers to a question in other words are the labels, or those of a policy that follows slowly."""

from assay.ask import AlsoAsk
from assay.curate import Untrained
from assay.forwards import Agreement
from assay.memory import Follow
from assay.methods.unlabelled.co_reward.paraphrased import Paraphrased
from assay.methods.unlabelled.co_reward.partner_vote import PartnerVote
from assay.objective import KL
from assay.recipe import Like
from assay.reward import CollectiveVote
from assay.scale import Model

CO_REWARD = Like(
    "grpo",
    name="co-reward",
    title="Co-rewarding: Stable Self-supervised RL for Eliciting Reasoning in Large Language Models",
    paper="2508.00410",
    claim="labels crossed between a question and its paraphrase do not collapse where votes and certainty do: 3.31% "
    "above other self-rewards on average over mathematics",
    missing="paraphrases that a language model writes: a task says its questions in another way, countdown by the "
    "order of its numbers; the third variant, in which the teacher answers the paraphrase",
    changes={
        "mechanism.ask": (Paraphrased(),),
        "mechanism.reward": (PartnerVote(),),
        "mechanism.forwards": (Agreement(),),
        "mechanism.objective.regularise": (KL(weight=5e-3, estimator="k3"),),
        "scale.num_prompts": 128,
        "scale.group_size": 8,
        "scale.max_new": 3072,
        "scale.learning_rate": 3e-6,
        "scale.schedule": "cosine",
        "scale.warmup_steps": 17,
        "scale.num_steps": 174,
    },
    notes=(
        "Both groups of 8 answers train in one update, with group statistics of their own. 174 steps are 3 epochs of "
        "MATH, and 17 of them the tenth of warm-up.",
        "If nobody answers one wording, the answers to the other have no reward and do not train.",
    ),
    deviations=(
        "Answers are equal if their texts are, spaces aside. The published code compares the text of the last box.",
    ),
)

CO_REWARD_TEACHER = Like(
    "co-reward",
    name="co-reward-teacher",
    claim="labels by a moving average of the policy: MATH500 80.8 with Qwen3-8B-Base, against 79.8 by its own majority",
    changes={
        "mechanism.ask": (AlsoAsk(roles=("teacher",)),),
        "mechanism.reward": (CollectiveVote(gamma=0.0, voters=("teacher",)),),
        "mechanism.curate": (Untrained(role="teacher"),),
        "mechanism.remember": (Follow(every=1, rate=5e-3),),
        "mechanism.objective.regularise": (KL(weight=1e-3, estimator="k3"),),
        "models": {"policy": Model(), "reference": Model(trained=False, follows="policy")},
        "roles": {"policy": "policy", "teacher": "reference"},
    },
    notes=(
        "The teacher answers each question 8 times and does not train; it is the reference of the KL too.",
        "The teacher moves to the policy by 0.005 a step, the mean of the paper's schedule, which falls from 0.01 to "
        "1e-5 as a cosine.",
    ),
)
