"""The reward of the greedy answer is the baseline."""

from assay.curate import StatisticsOnly
from assay.forwards import TokenKL
from assay.methods.baselines.remax.credit import GreedyRelative
from assay.methods.baselines.remax.greedy import Greedy
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
        "KL weight 0.05, rate, decay and lengths are those of the released script for Llama-2-7B; num_prompts and "
        "num_steps are ours (the script has one prompt a device).",
        "The tokens of the greedy answer count towards the budget, and the verifier checks it like any other answer. "
        "It never trains, and is in no statistics.",
        "The KL penalty is part of the reward of each token, and the advantage of a token contains the rewards of all "
        "later tokens.",
        "A mean over answers of sums over tokens has the gradient of the paper's formula.",
    ),
    deviations=(
        "The release samples with top_p 0.9 but learns under the full softmax; here both use the full softmax.",
        "In the released trainer a token's advantage contains its own KL alone, the outcome is discounted by 0.99 a "
        "token, and means run over the tokens of a device's batch.",
    ),
)
