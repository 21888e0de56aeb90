"""Log-ratios are the values of the uniformly random policy, regressed to their Bellman equation."""

from assay.credit import GroupRelative
from assay.methods.losses.rover.loss import Rover
from assay.methods.losses.rover.mean_logp import MeanLogProb
from assay.objective import NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

ROVER = Recipe(
    name="rover",
    title="Random Policy Valuation is Enough for LLM Reasoning with Verifiable Rewards",
    paper="2509.24981",
    claim="sampling from the values of the uniformly random policy: +8.2 pass@1, +16.8 pass@256 and 17.6% more "
    "diversity with Qwen3-8B-Base on AIME24, AIME25 and HMMT25",
    mechanism=Mechanism(
        reward=(Outcome(right=1.0, wrong=0.0),),
        forwards=(MeanLogProb(),),
        credit=GroupRelative(scale="none"),
        objective=Objective(whole=Rover(scale=1.0), ratio=NoRatio(), gate=Open(), aggregate=TokenMean()),
    ),
    scale=Scale(
        num_prompts=128,
        group_size=8,
        max_new=8192,
        learning_rate=1e-6,
        num_steps=500,
        num_minibatches=4,
        temperature=0.6,
    ),
    notes=(
        "The scale is that of the released script for mathematics, which goes through its data 30 times; num_steps is "
        "ours.",
        "The mean over the vocabulary is taken at the sampling temperature, like all log-probs here.",
        "If the next token is masked, the value of the next token that trains takes its place.",
        "At the old policy the gradient is twice that of REINFORCE with the group's mean as baseline.",
    ),
    deviations=("The released script for mathematics divides the advantage by the standard deviation, as GRPO does.",),
)
