"""Hard problems without those of the exams, with answers that three solutions agree on; then DAPO's changes of GRPO."""

from assay.objective import Clip
from assay.recipe import Like
from assay.reward import Outcome, SoftOverlong

DEEPMATH = Like(
    "dapo",
    name="deepmath",
    title="DeepMath-103K: A Large-Scale, Challenging, Decontaminated, and Verifiable Mathematical Dataset for "
    "Advancing Reasoning",
    paper="2504.11456",
    claim="103,000 hard, decontaminated problems with unanimous answers raise a 7B base model from 7.7 to 20.4 on AIME "
    "2024 and from 5.4 to 17.5 on AIME 2025",
    changes={
        "mechanism.reward": (Outcome(right=1.0, wrong=-1.0), SoftOverlong(buffer=2048, factor=1.0)),
        "mechanism.objective.gate": Clip(low=0.2, high=0.28),
        "scale.max_new": 10_240,
        "scale.num_steps": 500,
    },
    missing="the paper's raw sources, and the prompts with which a model rates difficulty and rewords questions; "
    "`assay data curate` does the other stages",
    notes=(
        "The method is its data: `assay data curate RAW --eval-data EXAMS --embedder MODEL --judge --into FILE`, then "
        "`assay train deepmath --data FILE`.",
        "The paper trains with GRPO, the changes of DAPO and +1 or -1 for the final answer. Answers of 10,240 tokens, "
        "of which the last 2,048 cost up to 1, 500 steps and a clip without a dual one are those of the published "
        "script for the 7B model from its base; all else is DAPO's.",
        "Without a judge, a cosine decides what is the same problem. The paper only asks its judge.",
    ),
    deviations=("After its release, 48 questions of the published data that stated their answer were mended.",),
)
