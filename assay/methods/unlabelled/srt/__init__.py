"""The majority of a group is the label; training on the problems of large majorities puts the collapse off."""

from assay.forwards import Agreement
from assay.methods.unlabelled.srt.most_agreed import MostAgreed
from assay.recipe import Like
from assay.reward import GroupVote

SRT = Like(
    "grpo",
    name="srt",
    title="Can Large Reasoning Models Self-Train?",
    paper="2505.21444",
    claim="self-training by majority votes is level with training on labels for a while, and collapses when it goes on",
    missing="stopping early by a held-out set of labels: read evaluations, and take the best checkpoint",
    changes={
        "tasks": ("mod-chain-7",),  # answers of one digit, on which votes agree
        "mechanism.reward": (GroupVote(),),
        "mechanism.forwards": (Agreement(),),
        "scale.num_prompts": 128,
        "scale.group_size": 16,
        "scale.max_new": 3072,
    },
    notes=(
        "Scale and objective are GRPO's. The published script runs REINFORCE with a leave-one-out baseline and a KL in "
        "the reward: `assay show srt` has its values beside these.",
    ),
)

SRT_EASY = Like(
    "srt",
    name="srt-easy",
    claim="training on the easiest third of the problems by their majorities does not collapse",
    changes={"tasks": ("mod-chain-7",), "mechanism.curate": (MostAgreed(share=1 / 3),)},
    notes=(
        "The third of a step's problems with the largest majorities trains. The paper chooses the problems once, by "
        "the majorities of the model that training begins with.",
    ),
)
