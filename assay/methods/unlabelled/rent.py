"""The negative mean entropy of the tokens is the reward, with a floor for answers that cannot be read."""

from assay.forwards import Agreement
from assay.objective import KL, TokenMean
from assay.recipe import Like
from assay.reward import Certainty

RENT = Like(
    "grpo",
    name="rent",
    title="Maximizing Confidence Alone Improves Reasoning",
    paper="2505.22660",
    claim="minimal entropy as the only reward improves Qwen and Llama models on GSM8K, MATH500, AMC, AIME and GPQA, "
    "trained on the very questions without their answers",
    changes={
        "mechanism.reward": (Certainty(form="mean-entropy", unread=-7.0),),
        "mechanism.forwards": (Agreement(),),
        "mechanism.objective.aggregate": TokenMean(),
        "mechanism.objective.regularise": (KL(weight=1e-3, estimator="k3"),),
        "scale.num_prompts": 30,
        "scale.group_size": 5,
        "scale.max_new": 3072,
        "scale.num_steps": 150,
    },
    notes=(
        "r = - mean_t H(pi(.|y_<t)), and -7 for a response without an answer that can be read, as the published "
        "example has it: while there are such responses, they decide the spread of a group.",
        "30 prompts, which are all of AIME, 5 answers, 150 epochs, 3,072 tokens and the KL are those of the example.",
    ),
    missing="entropies of some tokens alone, such as the last ones; those of the final answer are "
    "`--mechanism.reward.0.over answer`",
)
