"""The reward of an answer is its share of the group, so that the semantic entropy falls."""

from assay.curate import Agreed
from assay.forwards import Agreement
from assay.methods.unlabelled.empo.cluster import Cluster
from assay.recipe import Like

EMPO = Like(
    "grpo",
    name="empo",
    title="Right Question is Already Half the Answer: Fully Unsupervised LLM Reasoning Incentivization",
    paper="2504.05812",
    claim="minimal semantic entropy: Qwen2.5-Math-7B 30.7 to 48.1 on average over mathematics and Qwen2.5-7B 32.1 to "
    "50.1 on MMLU-Pro, without labels",
    missing="equality of free text by a small verifier or by entailment: answers are equal if their texts are",
    changes={
        "tasks": ("mod-chain-7",),  # answers of one digit, on which votes agree
        "mechanism.reward": (Cluster(form="cluster"),),
        "mechanism.curate": (Agreed(by="entropy", low=0.1, high=1.8),),
        "mechanism.forwards": (Agreement(),),
        "mechanism.objective.regularise": (),
        "scale.num_prompts": 128,
        "scale.group_size": 16,
        "scale.max_new": 3072,
    },
    notes=(
        "r = p_c, the share of the group that gives the same answer. An answer that cannot be read is alone, and has "
        "1/n.",
        "Groups train whose entropy is between 0.1 and 1.8 nats: the thresholds are ours, as is the scale.",
    ),
)

EMPO_LOG = Like(
    "empo",
    name="empo-log",
    claim="the logarithm of the share, whose mean over a group is the negative entropy of its answers",
    changes={"tasks": ("mod-chain-7",), "mechanism.reward": (Cluster(form="log-cluster", apart=0.0),)},
    notes=(
        "r = log p_c, and 0 for all answers if all differ: after normalisation rare answers weigh more than by p_c.",
        "Thresholds and scale are ours.",
    ),
)
