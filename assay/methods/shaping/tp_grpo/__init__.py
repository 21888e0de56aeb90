"""Wrong thoughts of right answers lose credit; in wrong answers, thoughts that these were not built on are spared."""

from assay.methods.shaping.tp_grpo.thoughts import Thoughts
from assay.recipe import Like

TP_GRPO = Like(
    "grpo",
    name="tp-grpo",
    title="Good Learners Think Their Thinking: Generative PRM Makes Large Reasoning Model More Efficient Math Learner",
    paper="2507.23317",
    claim="verdicts on thoughts, which only take credit away and more so on problems that the policy masters, reach "
    "GRPO's accuracy with a sixth of the answers: 50.10 against 49.64 on five sets of mathematics for a 1.5B model",
    missing="the generative judge, which finds the steps of a text and marks them, and answers that are sampled and "
    "judged 50 steps ahead",
    changes={
        "tasks": ("search-stream", "quantities", "trace"),
        "mechanism.shape": (Thoughts(alpha=1.0),),
        "scale.num_prompts": 5,
        "scale.group_size": 8,
        "scale.learning_rate": 1e-6,
        "scale.num_steps": 140,
    },
    notes=(
        "5 problems of 8 answers, the rate and 140 steps are the paper's. alpha, the limit of answers and the KL "
        "penalty, which is that of `grpo`, are ours.",
        "The advantages follow the paper's propositions token by token: as thoughts alternate, rewards that are summed "
        "to the end of the answer leave the outcome alone in a thought that is right. So runs of equal steps need not "
        "be merged.",
        "In a group without a wrong answer the outcome teaches nothing, but wrong thoughts still lose alpha.",
        "The task verifies the steps. On a task that cannot verify steps this is GRPO.",
    ),
    deviations=(
        "The paper's judge marks the steps of a wrong answer that match the content of the answer. Here these are the "
        "wrong steps that were not taken back; true steps are spared, also those that the answer repeats.",
    ),
)
