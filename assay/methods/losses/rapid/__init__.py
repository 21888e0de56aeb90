"""One large batch of rollouts and many updates; importance weights enter gradient and baseline at every update."""

from assay.credit import GroupRelative
from assay.methods.losses.rapid.loss import RAPID as Loss
from assay.objective import NoRatio, Objective, Open
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

RAPID = Recipe(
    name="rapid",
    title="RAPID: An Efficient Reinforcement Learning Algorithm for Small Language Models",
    paper="2510.03515",
    claim="one large inference phase, many updates, importance weights in gradient and baseline: 11 to 34% less time "
    "at similar or better accuracy",
    mechanism=Mechanism(
        reward=(Outcome(right=1.0, wrong=0.0),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(whole=Loss(cap=2.0, ddof=1, epsilon=1e-6), ratio=NoRatio(), gate=Open()),
    ),
    scale=Scale(num_prompts=256, group_size=8, max_new=1024, learning_rate=1e-6, num_steps=200, num_minibatches=8),
    notes=(
        "From the paper: large inference batches, then off-policy updates (num_minibatches of them), with importance "
        "weights capped at 2 in the gradient and in the baseline.",
        "Ours: the importance weight is the geometric mean of the answer's token ratios, the baseline is divided by "
        "the sum of weights, the standard deviation is that of the unweighted rewards, and the loss is a mean over "
        "answers of means over tokens; so is the scale.",
        "The advantage is computed anew at every update; the recorded one is that of the first update.",
        "Fair comparisons are grpo with as many updates and its clip, and grpo with a single update.",
    ),
)
