"""A model conjectures and proves: what it barely proves trains it to conjecture, and new proofs train it to prove."""

from assay.ask import Demonstrate
from assay.ask.posed_once import PosedOnce
from assay.credit import Constant
from assay.curate import NoTraining
from assay.methods.exploration.stp.conjectures import Conjectures, ProveConjectures
from assay.methods.exploration.stp.lessons import KeepLessons, LessonWeights, RehearseLessons
from assay.objective import NoRatio, Objective, Open, TokenMean
from assay.recipe import Like, Mechanism, Recipe, Stage
from assay.scale import Model, Scale
from assay.source.pose_examples import PoseExamples

ROUNDS = 4
TARGETS = 512
OBJECTIVE = Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean())


EXAMPLES = Mechanism(
    source=PoseExamples(lemma=0.5),
    ask=(PosedOnce(role="proposer"), Demonstrate()),
    credit=Constant(value=1.0),
    objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean(), injected="train"),
)
"""Theorems of the generator as conjectures, which the policy imitates before it conjectures itself."""


def playing(*, share: float = 0.5) -> Mechanism:
    """A round of conjectures and of proofs, which trains nothing."""
    return Mechanism(
        source=Conjectures(size=TARGETS, share=share),
        ask=(PosedOnce(role="proposer"),),
        expand=(ProveConjectures(),),
        curate=(NoTraining(),),
        remember=(KeepLessons(),),
    )


def fitting(*, last: bool = False) -> Mechanism:
    """Imitation of the lessons, by their weights."""
    return Mechanism(
        ask=(RehearseLessons(recent=3, last=last),),
        curate=(LessonWeights(decay=0.001, last=last),),
        credit=Constant(value=1.0),
        objective=OBJECTIVE,
    )


def _stages(play: Mechanism) -> tuple[Stage, ...]:
    rounds = [
        stage
        for number in range(1, ROUNDS + 1)
        for stage in (
            Stage(f"play {number}", share=1, mechanism=play),
            Stage(f"fit {number}", share=2, mechanism=fitting(), optimiser="reset"),
        )
    ]
    return (
        Stage("examples", share=6, mechanism=EXAMPLES),
        *rounds,
        Stage("last", share=4, mechanism=fitting(last=True), start="base", optimiser="reset"),
    )


STP = Recipe(
    name="stp",
    title="STP: Self-play LLM Theorem Provers with Iterative Conjecturing and Proving",
    paper="2502.00212",
    claim="a conjecturer whose barely provable conjectures resemble what is not proved yet doubles what expert "
    "iteration proves of LeanWorkbook: 26.3 to 13.2 percent",
    missing="Lean and Isabelle: Metamath takes their place; embeddings of the policy for matching, and seconds of the "
    "verifier in the weights",
    tasks=("metamath",),
    mechanism=fitting(),
    scale=Scale(num_prompts=128, group_size=32, max_new=1024, learning_rate=5e-5, num_steps=200, warmup_steps=5),
    models={"policy": Model()},
    roles={"policy": "policy", "proposer": "policy"},
    stages=_stages(playing()),
    notes=(
        "A prompt for a conjecture shows a proved theorem with s > 0.35, its proof and, half of the time, a rule that "
        "the proof uses; of the prompts of a step a tenth has the same rule at most. Conjectures with 0 < s < 1/4 "
        "whose proof uses the rule are kept, without the fifth of each rule whose proofs are the shortest beside "
        "their statements. Proofs train if s <= 1/2. All of this is the published code's.",
        "Before the first round the policy imitates conjectures: theorems of the task's generator, of which a prompt "
        "shows another one with its proof. In the paper they are the theorems of a library of proofs, each shown with "
        "the one before it in its file.",
        "The kernel of Metamath and the program decide what is proved. A conjecture that is none, that is a target, or "
        "that is a held-out theorem is dropped.",
        "A target is matched with the conjecture that is most like it, by the cosine of the counts of all runs of "
        "three characters; a conjecture takes at most four targets, and each adds conjectures / targets to its "
        "weight. Pairs are made in the order of their cosines. The published code takes embeddings of the policy and "
        "solves an assignment.",
        "A proof weighs exp(-0.001 length) / number of proofs of its statement. The published code also has the "
        "verifier's seconds in the exponent, which differ from machine to machine.",
        "Rounds train on the lessons of the last three, from the weights of the round before. The last stage trains "
        "the base anew on all proofs of targets and those of conjectures with s <= 1/4.",
        "There are four rounds, not twelve, and 32 tries from the first round on, where the code has 64 in the first. "
        "Half of the problems of a step are prompts for conjectures, 512 targets and the scale are ours.",
        "Measured with a model of a laptop: of 80 conjectures after the stage of examples one was a theorem. At that "
        "scale the rounds are hardly more than expert iteration; compare with `stp-alone` before a claim.",
    ),
)

STP_ALONE = Like(
    "stp",
    name="stp-alone",
    claim="a control: expert iteration, in which all problems of a step are targets",
    changes={"stages": _stages(playing(share=0.0)), "tasks": STP.tasks},
)
