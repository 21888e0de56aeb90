"""Controls: rewards by a coin, for form alone, or for the wrong answer; what they teach is no sign of learning."""

from assay.forwards import Agreement
from assay.methods.unlabelled.spurious.coin import Coin
from assay.methods.unlabelled.spurious.marked import Marked
from assay.methods.unlabelled.spurious.wrong_labels import WrongLabels
from assay.recipe import Like
from assay.reward import GroupVote

ABOUT = (
    "8 updates on the rollouts of 64 prompts with 16 answers, rate, clip and 3,072 tokens are those of the published "
    "scripts; 300 steps are ours. The clip acts only with several updates: `--scale.num-minibatches 1` is the control."
)

SPURIOUS_RANDOM = Like(
    "grpo",
    name="spurious-random",
    title="Spurious Rewards: Rethinking Training Signals in RLVR",
    paper="2506.10947",
    claim="a coin as the reward: +21.4 points on MATH-500 with Qwen2.5-Math-7B, and nothing with Llama 3 or OLMo 2",
    missing="rewards for the word python; labels that are fixed before training",
    changes={
        "mechanism.reward": (Coin(share=0.5),),
        "mechanism.forwards": (Agreement(),),
        "mechanism.objective.regularise": (),
        "scale.num_prompts": 64,
        "scale.group_size": 16,
        "scale.max_new": 3072,
        "scale.learning_rate": 5e-7,
        "scale.num_steps": 300,
        "scale.num_minibatches": 8,
    },
    notes=("Each answer is rewarded with probability 0.5, whatever it says.", ABOUT),
)

SPURIOUS_FORMAT = Like(
    "spurious-random",
    name="spurious-format",
    claim="a reward for a box with anything in it: +13.8 points on MATH-500 with Qwen2.5-Math-7B",
    changes={"mechanism.reward": (Marked(),)},
    notes=(
        "1 for a response that marks an answer which is not empty: in natural wording a box, in compact wording the "
        "text behind a mark, or the whole text. It needs to end by itself.",
        ABOUT,
    ),
)

SPURIOUS_INCORRECT = Like(
    "spurious-random",
    name="spurious-incorrect",
    claim="a reward for agreement with wrong majorities alone: +24.1 points on MATH-500 with Qwen2.5-Math-7B",
    changes={"mechanism.reward": (GroupVote(),), "mechanism.curate": (WrongLabels(),)},
    notes=("Only groups train whose majority is wrong, and agreement with it is rewarded.", ABOUT),
    deviations=(
        "The paper takes the majorities of the base model, before training; here they are those of each step's group.",
    ),
)

SPURIOUS_MAJORITY = Like(
    "spurious-random",
    name="spurious-majority",
    claim="a reward for agreement with the majority, right or wrong: +27.1 points on MATH-500 with Qwen2.5-Math-7B",
    changes={"mechanism.reward": (GroupVote(),)},
    notes=("Beside this, labels that are right give +29.1.", ABOUT),
    deviations=(
        "The paper takes the majorities of the base model, before training; here they are those of each step's group.",
    ),
)
