"""Tree search inside training, with values of steps as advantages, held solutions, and rounds on what is not solved."""

from assay.ask import Trunks
from assay.curate import Untrained
from assay.methods.deepsearch.backed_up import BackedUp
from assay.methods.deepsearch.credit import ProcessRelative
from assay.methods.deepsearch.examined import KeepExamined
from assay.methods.deepsearch.first_steps import FirstSteps, Recall
from assay.methods.deepsearch.search import Search
from assay.methods.deepsearch.solved import HoldSolved
from assay.methods.deepsearch.source import Examine, Unsolved
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import Outcome, SoftOverlong
from assay.scale import Scale
from assay.stages import Threshold

EXAMINE = Mechanism(
    source=Examine(size=512, most=0.25),
    ask=(Trunks(share=4 / 8),),
    curate=(Untrained(role="policy"),),
    remember=(KeepExamined(),),
)
EXAMINED = Threshold("reward/accuracy", least=0.0, window=1)  # whatever came of it: one step

DEEPSEARCH = Recipe(
    name="deepsearch",
    title="DeepSearch: Overcome the Bottleneck of RL with Verifiable Rewards via Monte Carlo Tree Search",
    paper="2509.25454",
    claim="rows that a tree search finds, with the values of its nodes as credit, raise a saturated 1.5B model to "
    "62.95 on average over mathematics at 5.7 times fewer GPU hours than longer training",
    mechanism=Mechanism(
        source=Unsolved(size=512, most=0.25),
        ask=(Recall(), FirstSteps(width=8, depth=64, least=4)),
        expand=(Search(explore=2.0, quality=0.4, doubt=0.0, depth=0.01),),
        reward=(Outcome(right=1.0, wrong=-1.0), SoftOverlong(buffer=4096, factor=1.0)),
        curate=(BackedUp(temperature=1.0),),
        credit=ProcessRelative(),
        objective=Objective(gate=Clip(low=0.2, high=0.28, dual=10.0), aggregate=TokenMean()),
        remember=(HoldSolved(most=0.25),),
    ),
    scale=Scale(
        num_prompts=256,
        group_size=8,
        max_new=16384,
        learning_rate=1e-6,
        num_steps=202,
        num_minibatches=8,
        warmup_steps=80,
        weight_decay=0.1,
    ),
    stages=(
        Stage("examine", mechanism=EXAMINE),
        Stage("search", when=EXAMINED),
        Stage("examine again", mechanism=EXAMINE),
        Stage("search again", when=EXAMINED, optimiser="reset"),
    ),
    notes=(
        "64 steps of 256 tokens, eight children a node, eight answers a tree. Where answers are so short that a step "
        "would have fewer than 4 tokens there are fewer steps, at least two: mechanism.ask.1.least, which is ours.",
        "Search, values and scale are those of the published code. Its UCT chooses among children that were all "
        "visited once at value 0, so that it takes the first; the paper's uncertainty term (doubt 0.4) is off there.",
        "Where every node has ended before there are enough answers, those passed over are backed up; the published "
        "code fails there. A group of equal rewards teaches nothing; there, its inner steps are pushed all the same.",
        "Two rounds of 100 steps. Before each, one step examines the set with four answers a problem (half a group), "
        "from which nothing is learnt, and the round works on the problems of which at most one was right; what was "
        "left out stays out. The optimiser begins anew in the second round, as in the scripts; the weights go on, "
        "where the second script names the base.",
        "Held answers come back the next time their problem is drawn, and are let go when more than a quarter is "
        "right; the paper builds them between two rounds.",
        "Held answers are off policy: their ratio starts at 1 under the current weights, which is imitation.",
        "A step that k rows share is trained k times.",
        "One surest answer of an expansion is kept: rows, group means and pass rates are better than the policy.",
        "The size of the problem set is ours.",
    ),
)
