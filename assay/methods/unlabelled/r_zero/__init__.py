"""A proposer is rewarded for problems on which the answers of a solver are split; votes are the solver's labels."""

from assay.ask import AsRole
from assay.credit import GroupRelative
from assay.curate import Agreed
from assay.forwards import Agreement
from assay.memory import AdmitPosed
from assay.methods.unlabelled.r_zero.answer_posed import AnswerPosed
from assay.methods.unlabelled.r_zero.split import Split
from assay.objective import Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe, Rule
from assay.reward import GroupVote
from assay.scale import Model, Scale
from assay.source import Pose

CREDIT = GroupRelative(scale="std", ddof=1, epsilon=1e-6)
OBJECTIVE = Objective(gate=Clip(low=0.2, high=0.2), aggregate=SequenceMean())


def _self_questioning(split: Split, low: float, high: float) -> Mechanism:
    """Pose, answer, vote: the mechanism of both papers."""
    return Mechanism(
        source=Pose(),
        ask=(AsRole("proposer"),),
        expand=(AnswerPosed(answers=8),),
        reward=(GroupVote(),),
        curate=(Agreed(by="share", low=low, high=high, role="policy"),),
        forwards=(Agreement(role="policy"),),
        credit=CREDIT,
        objective=OBJECTIVE,
        remember=(AdmitPosed(cap=16384),),
        rules=(Rule("proposer", reward=(split,), credit=CREDIT, objective=OBJECTIVE),),
    )


R_ZERO = Recipe(
    name="r-zero",
    title="R-Zero: Self-Evolving Reasoning LLM from Zero Data",
    paper="2508.05004",
    claim="a challenger and a solver that start as one base and train each other, without data: 6.49 points on "
    "mathematics with Qwen3-4B-Base",
    missing="questions in words: problems of tasks that can be posed take their place; alternating training of "
    "challenger and solver, and similarity of texts in the penalty for repetition",
    tasks=("dsl-deduction",),
    mechanism=_self_questioning(Split(form="tent", repeated=1.0), 0.25, 0.75),
    scale=Scale(num_prompts=32, group_size=4, max_new=4096, learning_rate=1e-6, num_steps=100),
    models={"policy": Model(), "proposer": Model()},
    roles={"policy": "policy", "proposer": "proposer"},
    notes=(
        "A problem earns max(0, 1 - 2 |p - 1/2| - its share of the problems of the step that are the same), with p the "
        "share of the solver's most frequent answer, and 0 if the text is no problem. The solver trains on problems "
        "with p from 0.25 to 0.75, by the vote of 8 answers.",
        "Both players train in every step. The paper trains one while the other is frozen, some steps each.",
        "Whether a label is right is measured by the verifier (`agreement`) and trains nothing. The scale is ours.",
    ),
)

SQLM = Recipe(
    name="sqlm",
    title="Self-Questioning Language Models",
    paper="2508.03682",
    claim="one model that poses and answers its own questions, with votes as labels, improves on multiplication, "
    "algebra and programs without any data",
    missing="topics in words and unit tests as questions: problems of tasks that can be posed take their place",
    tasks=("dsl-deduction",),
    mechanism=_self_questioning(Split(form="band", repeated=0.0), 0.0, 1.0),
    scale=Scale(num_prompts=32, group_size=4, max_new=4096, learning_rate=1e-6, num_steps=100),
    models={"policy": Model()},
    roles={"policy": "policy", "proposer": "policy"},
    notes=(
        "A problem earns 1 if the answers of the solver neither all agree nor all differ, else 0. All problems train "
        "the solver, by the vote of 8 answers. That answers which all differ earn 0 is how we read the paper; with a "
        "majority of one among them others would give 1.",
        "One parameter set plays both roles. The scale is ours.",
    ),
)
