"""Answers fork after the reply of a tool, more often where entropy rose."""

from assay.credit import GroupRelative
from assay.methods.exploration.arpo.forks import ForkAtReplies
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Like, Mechanism, Recipe
from assay.reward import Called, Graded, Outcome, Product
from assay.scale import Scale

ARPO = Recipe(
    name="arpo",
    title="Agentic Reinforced Policy Optimization",
    paper="2507.19849",
    claim="half of a group's answers are forks that begin right after a tool's reply, more often where entropy rose: "
    "above trajectory-level RL on 13 benchmarks with half the tool calls",
    missing="pages of the web, and F1 in place of an exact verdict",
    tasks=(
        "lookup-tool",
        "search-small",
        "search-python-small",
        "interpreter",
        "sql-tool",
        "lookup-faulty",
        "calculator",
    ),
    mechanism=Mechanism(
        expand=(ForkAtReplies(total=16, beams=2, threshold=0.5, weight=0.2, tokens=20),),
        reward=(Graded(right=1.0, wrong=0.0, malformed=-1.0),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=4096, learning_rate=1e-6, num_steps=200, num_minibatches=8),
    notes=(
        "group_size is the number of whole answers with which a group begins; forks fill the group up to `total`.",
        "Entropy is that of the full softmax, averaged over the first tokens of a turn. The published code sums over "
        "the ten likeliest tokens of twenty positions instead of averaging, so that short turns look certain.",
        "The entropy of an answer's first turn is its own. The published code stores it under an index that a later "
        "batch may read.",
        "A group in which no answer is still in progress gets fresh answers until it is full. When the published code "
        "is short of answers it repeats the last one, which biases the group mean.",
        "A beginning that several answers share is trained in each of their rows (the paper's soft attribution); "
        "`--mechanism.shape shared-mean` is its hard attribution. Both weigh the beginning by the number of its "
        "copies.",
        "The published reward is F1, and 0.1 more if both tools were used: `arpo-both` pays that. Here an answer is "
        "right or wrong; `--mechanism.reward answer-f1` pays for the words in common.",
        "A fork goes on in a play of its own, in the state that its trunk had there: a database from what was saved, "
        "an interpreter in a session that has run the same programs.",
        "num_steps is ours.",
    ),
)

SEARCHES = ("search", "open", "s", "o")  # in English pages, and in pages of a few characters

ARPO_BOTH = Like(
    "arpo",
    name="arpo-both",
    claim="0.1 more for a right answer that searched and computed: policies learn to use several tools in one answer",
    changes={
        "tasks": ("search-python-small", "search-python"),
        "mechanism.reward": (
            *ARPO.mechanism.reward,
            Product(
                of=(
                    Called(tools=SEARCHES, right=0.1, wrong=0.0),
                    Called(tools=("python",), right=1.0, wrong=0.0),
                    Outcome(right=1.0, wrong=0.0),
                )
            ),
        ),
    },
    notes=(
        "The 0.1 is the paper's, and is paid for right answers alone, as in the published code. A call counts if its "
        "reply told of no error.",
    ),
)
