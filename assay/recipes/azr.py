from assay.augment import AsRole
from assay.collect import SolvePosed
from assay.credit import CellRelative
from assay.curate import WithoutTag
from assay.memory import AdmitPosed
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Rule, Scale
from assay.reward import Graded, Learnability
from assay.source import Pose

OBJECTIVE = Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean())

AZR = Recipe(
    name="azr",
    title="Absolute Zero: Reinforced Self-play Reasoning with Zero Data",
    paper="2505.03335",
    claim="one model poses and solves program tasks that an executor checks: best of the zero-setting 7B models on "
    "the average of code and mathematics, without any external data",
    mechanism=Mechanism(
        source=Pose(),
        augment=(AsRole("proposer"),),
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
    notes=(
        "num_prompts is 64 for each of three types; each type is posed and solved as often, six cells of 64 rows.",
        "The text gives 0 to a problem that all or none of the probes solve; the published code gives -0.5, as here.",
        "Mean and variance of a cell run over its rows; the published code whitens over tokens, so that long rows "
        "weigh more: `--mechanism.credit.over tokens`, and likewise for the rule of the proposer.",
        "Probes tell how hard a problem is and are thrown away; without `without-tag` they train too.",
        "A pool begins with one program that exchanges two digits; the published code lets the base model fill the "
        "pools before training, which here is what the first steps do.",
        "Three programs are shown where the paper shows six: what is posed must fit into a small context.",
        "Problems of the validation and test splits may be posed and are rewarded, and never come into the pool; nor "
        "does a problem that is there already.",
        "num_steps is ours.",
    ),
)
