"""Answers fork after replies of tools where the entropy rose."""

from assay.credit import GroupRelative
from assay.methods.arpo.forks import ForkAtReplies
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Graded
from assay.scale import Scale

ARPO = Recipe(
    name="arpo",
    title="Agentic Reinforced Policy Optimization",
    paper="2507.19849",
    claim="half of a group's answers are forks right after tool replies, more where entropy rose: above "
    "trajectory-level RL on 13 benchmarks with half the tool calls",
    missing="search, browsing and Python as tools, and its reward by F1 and by the tools that were used",
    tasks=("lookup-tool", "lookup-faulty", "calculator"),
    mechanism=Mechanism(
        expand=(ForkAtReplies(total=16, beams=2, threshold=0.5, weight=0.2, tokens=20),),
        reward=(Graded(right=1.0, wrong=0.0, malformed=-1.0),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=4096, learning_rate=1e-6, num_steps=200, num_minibatches=8),
    notes=(
        "group_size is the number of whole answers a group begins with; forks fill it up to `total`.",
        "Entropy is that of the full softmax, as a mean over the turn's first tokens; the published code sums the ten "
        "likeliest alternatives over twenty tokens, so that its short turns look certain.",
        "The first entropy of an answer is its own; the published code keeps it under an index that a later batch may "
        "read.",
        "A group without an active answer gets fresh ones until it is full; where the published code is short of "
        "answers it repeats the last, which biases the mean.",
        "A shared beginning trains in every row that holds it (soft attribution); `--mechanism.shape shared-mean` is "
        "the hard one. Both weigh it by the number of its copies.",
        "The published reward is F1, and 0.1 more where both tools were used; here an answer is right or wrong.",
        "num_steps is ours.",
    ),
)
