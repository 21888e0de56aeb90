"""One policy poses programs of a stack machine (the paper: of Python) and solves them, from pools that it fills
first.
"""

from assay.curate import Untrained
from assay.methods.azr.as_role import AsRole
from assay.methods.azr.cells import CellRelative
from assay.methods.azr.learnability import Learnability
from assay.methods.azr.memory import AdmitPosed
from assay.methods.azr.pose import Pose, PoseSeeds
from assay.methods.azr.seeded import Seeded
from assay.methods.azr.solve import SolvePosed
from assay.methods.azr.without_tag import WithoutTag
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Rule, Stage
from assay.reward import Graded
from assay.scale import Scale

SEEDS = 256  # 4 times the 64 prompts of a cell
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
    missing="programs in Python, run by an interpreter: a stack machine on digits takes its place",
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
        "The paper's programs are Python that an interpreter runs. Here they are those of a stack machine on digits, "
        "rows of at most eight instructions of one character, without loops: the tasks dsl-deduction, dsl-abduction "
        "and dsl-induction.",
        "num_prompts is 64 for each of three types; each type is posed and solved as often, six cells of 64 rows.",
        "The text gives 0 to a problem that all or none of the probes solve; the published code gives -0.5, as here.",
        "Mean and variance of a cell run over its rows; the published code whitens over tokens, so that long rows "
        "weigh more: `--mechanism.credit.over tokens`, and likewise for the rule of the proposer.",
        "Probes tell how hard a problem is and are thrown away; without `without-tag` they train too.",
        "Pools are filled before training, by the weights that the run begins with: 256 problems of each task, those "
        "of induction made of the others' programs, or what a fifth of the steps could pose. Nothing is updated and "
        "nothing probed meanwhile; the budget counts what was written. The published code poses one set of 256 for "
        "deduction and abduction, which here have a set each, and does not count these steps as training.",
        "It begins with the identity; here with the program that exchanges two digits.",
        "Six inputs with a message, three of them shown, where the paper has ten and five. As its prompt demands, and "
        "here enforced, a message does not hold the program.",
        "Three programs are shown where the paper shows six: what is posed must fit into a small context.",
        "Problems of the validation and test splits may be posed and are rewarded, and never come into the pool; nor "
        "does a problem that is there already.",
        "num_steps is ours.",
    ),
)
