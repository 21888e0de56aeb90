"""The majority of many answers is the label, and some of these answers train; on the very problems of the test."""

from assay.forwards import Agreement
from assay.methods.unlabelled.ttrl.first_answers import FirstAnswers
from assay.objective import KL, TokenMean
from assay.recipe import Like
from assay.reward import GroupVote
from assay.source import Epochs

TTRL = Like(
    "grpo",
    name="ttrl",
    title="TTRL: Test-Time Reinforcement Learning",
    paper="2504.16084",
    claim="rewards by the vote of 64 answers raise Qwen2.5-Math-7B from 12.9 to 40.2 on AIME 2024, above the majority "
    "of the model that it began with",
    changes={
        "tasks": ("mod-chain-7",),  # answers of one digit, on which votes agree
        "mechanism.source": Epochs(size=30),
        "mechanism.reward": (GroupVote(),),
        "mechanism.curate": (FirstAnswers(count=32),),
        "mechanism.forwards": (Agreement(),),
        "mechanism.objective.aggregate": TokenMean(),
        "mechanism.objective.regularise": (KL(weight=1e-3, estimator="k3"),),
        "scale.num_prompts": 8,
        "scale.group_size": 64,
        "scale.max_new": 3072,
        "scale.learning_rate": 5e-7,
        "scale.schedule": "cosine",
        "scale.warmup_steps": 56,
        "scale.num_steps": 240,
        "scale.num_minibatches": 8,
    },
    notes=(
        "All 64 answers vote and the first 32 train; group statistics are those of the 32. The "
        "release takes eight updates a step, one for the answers of each prompt, and 80 epochs over AIME's 30 "
        "problems, of which it drops the last six: 240 steps. The weight of the KL is that of the framework.",
        "Examinations ask held-out problems; what a run says of the problems that it trains on are reward/accuracy and "
        "vote/label_accuracy. They are measured by answers that train nothing.",
        "Answers are equal if their texts are, spaces aside, so that votes teach most on a task whose right answer is "
        "one short text. What is not marked as an answer has no vote; what is marked has one, also where the verifier "
        "cannot parse it. Of equally many the one that came first is elected.",
    ),
    deviations=(
        "If no answer of a group can be read, the published code fails; here the group has no reward and does not "
        "train.",
        "The first version of the paper samples at temperature 0.6.",
    ),
)
