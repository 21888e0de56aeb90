"""One policy poses programs of a stack machine (in the paper: of Python) and solves them, without outside data."""

from assay.ask import AsRole
from assay.curate import Untrained, WithoutTag
from assay.memory import AdmitPosed
from assay.methods.exploration.azr.cells import CellRelative
from assay.methods.exploration.azr.learnability import Learnability
from assay.methods.exploration.azr.pose_seeds import PoseSeeds
from assay.methods.exploration.azr.seeded import Seeded
from assay.methods.exploration.azr.solve import SolvePosed
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Rule, Stage
from assay.reward import Graded
from assay.scale import Scale
from assay.source import Pose

SEEDS = 256  # 4 times the 64 prompts of a cell, a cell being one task in one role
OBJECTIVE = Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean())

SEED = Mechanism(
    source=PoseSeeds(size=SEEDS),
    ask=(AsRole("proposer"),),
    curate=(Untrained(role="proposer"),),
    remember=(AdmitPosed(cap=16384),),
)

AZR = Recipe(
    name="azr",
    title="Absolute Zero: Reinforced Self-play Reasoning with Zero Data",
    paper="2505.03335",
    claim="one model poses and solves program tasks that an executor checks: best of the zero-setting 7B models on "
    "the average of code and mathematics, without any external data",
    missing="programs of several lines: those of a stack machine on digits, or expressions of Python, take their place",
    tasks=("dsl-deduction", "dsl-abduction", "dsl-induction"),
    mechanism=Mechanism(
        source=Pose(),
        ask=(AsRole("proposer"),),
        expand=(SolvePosed(probes=8),),
        reward=(Graded(right=1.0, wrong=-0.5, malformed=-1.0),),
        curate=(WithoutTag("probe"),),
        credit=CellRelative(over="rows"),
        objective=OBJECTIVE,
        remember=(AdmitPosed(cap=16384),),
        rules=(
            Rule(
                "proposer",
                reward=(Learnability(invalid=-1.0, extreme=-0.5),),
                credit=CellRelative(over="rows"),
                objective=OBJECTIVE,
            ),
        ),
    ),
    scale=Scale(num_prompts=192, group_size=1, max_new=8096, learning_rate=1e-6, num_steps=500, num_minibatches=3),
    roles={"policy": "policy", "proposer": "policy"},
    stages=(Stage("seed", share=0.2, mechanism=SEED), Stage("self-play", share=0.8, when=Seeded(size=SEEDS))),
    notes=(
        "The paper's programs are functions in Python, and an interpreter runs them. In the tasks dsl-deduction, "
        "dsl-abduction and dsl-induction they are programs of a stack machine on digits: at most eight instructions of "
        "one character each, without loops. In python-deduction, python-abduction and python-induction they are "
        "expressions of Python on a list of integers, which the sandbox runs: twice, with the same value, and without "
        "words that reach out of the expression or that have another value each time.",
        "num_prompts is 64 for each of the three tasks. Each task is posed as often as it is solved: six cells (task "
        "and role) of 64 rows.",
        "The paper's text gives the reward 0 to a problem that all or none of the probes solve; the published code "
        "gives -0.5, as here.",
        "Mean and variance of a cell run over its rows. The published code whitens over tokens, so that long rows "
        "weigh more: `--mechanism.credit.over tokens`, and the same for the rule of the proposer.",
        "Probes are answers that measure how hard a new problem is; they do not train. Without `without-tag` they "
        "train too.",
        "Before training, the initial weights fill the pools: 256 problems of each task, or as many as a fifth of the "
        "steps could pose. Problems of induction are made of the programs of the other tasks. During this stage "
        "nothing is updated and nothing is probed, and the budget counts its tokens. The published code poses one set "
        "of 256 for deduction and abduction together, where each has its own set here, and does not count these steps "
        "as training.",
        "The published code begins with the identity function as its only program; here the first program exchanges "
        "two digits.",
        "An induction problem has six inputs and a message, with three of the inputs shown; the paper has ten and "
        "five. The message must not contain the program, which the paper's prompt demands and which is enforced here.",
        "A prompt for a new problem shows three programs, the paper's six: the prompt must fit into a small context.",
        "A posed problem of the validation or test split earns its reward, but never enters the pool; nor does a "
        "problem that is already in it.",
        "num_steps is ours.",
    ),
)
