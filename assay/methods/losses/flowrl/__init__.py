"""The policy matches the distribution exp(beta A) ref / Z instead of maximising reward; log Z is learnt too."""

from assay.credit import GroupRelative
from assay.methods.losses.flowrl.loss import FlowRL
from assay.methods.losses.flowrl.partition import Partition
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
        "beta and the scale are those of the released script for mathematics with 7B, which passes once over its "
        "data; the clip is the default of the script's framework; num_steps is ours.",
        "The paper computes log Z by three layers on the mean hidden state of the prompt inside the policy, and "
        "trains them with the policy's optimiser. Here log Z has a parameter set of its own, with a linear output "
        "that starts at zero and its own optimiser; it does not train the policy's layers.",
        "log Z takes as many updates a step as the policy, before the policy's, and against the policy as it was.",
        "Log-probs are divided by the length: the matched distribution is tilted per token, not per answer.",
    ),
    deviations=(
        "The released trainer computes the clipped weight but multiplies by the unclipped one; the later verl recipe "
        "only caps the weight at 10.",
    ),
)
