"""The policy matches a distribution, exp(beta A) times the reference, in place of a maximum; log Z of each question
learns beside it.
"""

from assay.credit import GroupRelative
from assay.methods.flowrl.loss import FlowRL
from assay.methods.flowrl.partition import Partition
from assay.objective import NoRatio, Objective, Open, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Model, Scale

FLOWRL = Recipe(
    name="flowrl",
    title="FlowRL: Matching Reward Distributions for LLM Reasoning",
    paper="2509.15207",
    claim="matching the distribution exp(beta r) ref instead of maximising r: 48.4 on average over six sets with "
    "Qwen2.5-32B against 43.3 of PPO and 38.3 of GRPO",
    mechanism=Mechanism(
        reward=(Outcome(right=1.0, wrong=0.0),),
        forwards=(Partition(model="partition", rate=1.0),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            whole=FlowRL(beta=15.0, low=0.2, high=0.2), ratio=NoRatio(), gate=Open(), aggregate=SequenceMean()
        ),
    ),
    scale=Scale(
        num_prompts=512,
        group_size=8,
        max_new=8192,
        learning_rate=1e-6,
        num_steps=500,
        num_minibatches=16,
        warmup_steps=160,
        weight_decay=0.1,
    ),
    models={"policy": Model(), "partition": Model(output="value")},
    notes=(
        "beta and the scale are those of the released script for mathematics with 7B, the clip is the default of its "
        "framework; it goes through the data once, num_steps is ours.",
        "log Z is the paper's three layers on the mean state of the prompt within the policy, by the same optimiser. "
        "Here it is a set of its own that reads the prompt, with a linear output from zero and its own optimiser; it "
        "does not train the policy's trunk.",
        "It takes as many steps as the policy, before it, against the policy as it was.",
        "Length-normalised log-probs: what is matched is a tilted distribution per token, not of whole answers.",
    ),
    deviations=(
        "The released trainer computes the clipped weight and uses the unclipped product; the later verl recipe holds "
        "it at 10 from above only.",
    ),
)
