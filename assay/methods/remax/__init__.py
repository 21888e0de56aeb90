"""The reward of the greedy answer is the baseline."""

from assay.curate import StatisticsOnly
from assay.forwards import TokenKL
from assay.methods.remax.credit import GreedyRelative
from assay.methods.remax.greedy import Greedy
from assay.objective import NoRatio, Objective, Open, SequenceSum
from assay.recipe import Mechanism, Recipe
from assay.scale import Model, Scale

REMAX = Recipe(
    name="remax",
    title="ReMax: A Simple, Effective, and Efficient Reinforcement Learning Method for Aligning Large Language Models",
    paper="2310.10505",
    claim="the reward of the greedy answer as baseline in place of a critic: half the memory of PPO, 1.6 times faster",
    mechanism=Mechanism(
        ask=(Greedy(),),
        curate=(StatisticsOnly(tag="greedy"),),
        forwards=(TokenKL(weight=0.05),),
        credit=GreedyRelative(tag="greedy"),
        objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=SequenceSum()),
    ),
    scale=Scale(
        num_prompts=128,
        group_size=1,
        max_new=256,
        learning_rate=1e-6,
        num_steps=500,
        schedule="cosine",
        weight_decay=0.1,
    ),
    models={"policy": Model(), "reference": Model(trained=False)},
    notes=(
        "KL 0.05, rate, decay and lengths are those of the released script for Llama-2-7B; num_prompts and num_steps "
        "are ours (the script has one prompt a device).",
        "The greedy answer counts as generated and is judged like any other; it is never trained, nor counted.",
        "KL is in the reward of each token, and what a token causes later counts for it.",
        "A mean over answers of sums over tokens is the gradient of the formula.",
    ),
    deviations=(
        "The release samples with top_p 0.9 and learns under the full softmax; here both are the full softmax.",
        "The released trainer takes from a token its own KL alone, discounts the outcome by 0.99 a token, and takes "
        "means over the tokens of a device's batch.",
    ),
)
