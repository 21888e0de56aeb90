"""Tree search inside training: values of steps are advantages, solutions are replayed, rounds drop solved problems."""

from assay.ask import FirstSteps, Trunks
from assay.curate import Untrained
from assay.memory import KeepExamined
from assay.methods.exploration.deepsearch.backed_up import BackedUp
from assay.methods.exploration.deepsearch.credit import ProcessRelative
from assay.methods.exploration.deepsearch.recall import Recall
from assay.methods.exploration.deepsearch.search import Search
from assay.methods.exploration.deepsearch.solved import HoldSolved
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import Outcome, SoftOverlong
from assay.scale import Scale
from assay.source import Examine, Unsolved
from assay.stages import Threshold

EXAMINE = Mechanism(
    source=Examine(size=512, most=0.25),
    ask=(Trunks(share=4 / 8),),
    curate=(Untrained(role="policy"),),
    remember=(KeepExamined(),),
)
EXAMINED = Threshold("reward/accuracy", least=0.0, window=1)  # met after one step, whatever the accuracy

DEEPSEARCH = Recipe(
    name="deepsearch",
    title="DeepSearch: Overcome the Bottleneck of RL with Verifiable Rewards via Monte Carlo Tree Search",
    paper="2509.25454",
    claim="answers that a tree search finds, with the values of its nodes as credit, raise a saturated 1.5B model to "
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
        "An answer has 64 steps of 256 tokens, a node eight children, a tree eight answers. Where the limit of "
        "answers is so low that a step would have fewer than 4 tokens, an answer has fewer steps, at least two; that "
        "bound (mechanism.ask.1.least) is ours.",
        "Search, values and scale are those of the published code. There UCT chooses among children that were all "
        "visited once with value 0, so that it takes the first. The paper's uncertainty term (doubt 0.4) is off "
        "there.",
        "If every node has ended before a tree has enough answers, answers that were passed over are backed up too; "
        "the published code fails there. A group whose rewards are all equal has no gradient here; in the published "
        "code its inner steps still have one.",
        "There are two rounds of 100 steps. Before each, one step examines all problems with four answers each (half "
        "a group) and trains on nothing; the round then draws the problems of which at most one of the four was "
        "right, and drops the others for good. The second round starts with a new optimiser, as in the scripts, and "
        "with the weights of the first round; the second script starts from the base model.",
        "Held answers are replayed the next time their problem is drawn, and forgotten when more than a quarter of "
        "its answers are right; the paper collects them once, between two rounds.",
        "Replayed answers are off policy. Their old log-probs are those of the current weights, so the ratio starts "
        "at 1, which amounts to imitation.",
        "A step that k rows share is trained k times.",
        "Of each expansion the surest answer is kept, so that rows, group means and pass rates look better than the "
        "policy is.",
        "The number of problems is ours.",
    ),
)
