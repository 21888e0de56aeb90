"""Answers whose reasoning goes steadily towards them are rewarded, by the perplexity of all answers after each step."""

from assay.forwards import Agreement, TokenKL
from assay.methods.unlabelled.covo.steady import Steady
from assay.recipe import Like

COVO = Like(
    "rfpp",
    name="covo",
    title="Consistent Paths Lead to Truth: Self-Rewarding Reinforcement Learning for LLM Reasoning",
    paper="2506.08745",
    claim="level with GRPO on labels, or above it, for Llama-3.2-3B and Qwen2.5-3B and 7B on mathematics and common "
    "sense",
    missing="the bonus for curiosity",
    changes={
        "mechanism.reward": (Steady(form="vector", above=0.5),),
        "mechanism.forwards": (TokenKL(weight=1e-4), Agreement()),
        "scale.num_prompts": 64,
        "scale.group_size": 16,
        "scale.max_new": 3072,
        "scale.learning_rate": 5e-7,
    },
    notes=(
        "16 answers, the rate and the KL of 1e-4 in the reward are the paper's, the rest of the scale is ours; the "
        "published configuration has 16 prompts and 2,048 tokens.",
        "It takes as many forward passes as a response has steps times different answers of the group: at most 15 "
        "steps of it. An answer without reasoning has one state, the question.",
    ),
    deviations=(
        "The paper gives the norm itself as the reward; its code gives 1 to the members of groups above 0.5, as here. "
        "`--mechanism.reward.0.above none` is the paper's.",
    ),
)
