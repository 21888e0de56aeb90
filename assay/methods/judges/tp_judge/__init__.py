"""A prover judges the steps of answers: problems with verified ones are imitated, then verified answers preferred."""

from assay.collect import Frozen
from assay.credit import Constant, GroupRelative
from assay.curate import RankedPairs, TrainAt
from assay.methods.judges.tp_judge.proved import AllVerified, ProvedSteps
from assay.objective import NoRatio, Objective, Open, TokenMean
from assay.objective.pairwise import DPO
from assay.part import Rewarding
from assay.recipe import Like, Mechanism, Recipe, Stage
from assay.reward import Outcome
from assay.scale import Model, Scale

Judge = tuple[Rewarding, ...]


def imitating(judge: Judge) -> Mechanism:
    """Answers to problems of which the judge has verified every answer."""
    return Mechanism(
        reward=judge,
        curate=(AllVerified(),),
        credit=Constant(value=1.0),
        objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean()),
    )


def preferring(judge: Judge) -> Mechanism:
    """What the judge has verified against what it has found false."""
    return Mechanism(
        collect=(Frozen(model="reference"),),
        reward=judge,
        curate=(TrainAt(temperature=1.0), RankedPairs(roles=("policy",), tier=0.0)),
        credit=GroupRelative(scale="none"),
        objective=Objective(whole=DPO(beta=0.1), ratio=NoRatio(), gate=Open()),
    )


def _stages(judge: Judge) -> tuple[Stage, Stage]:
    return (
        Stage("imitate", share=1, mechanism=imitating(judge)),
        Stage("prefer", share=1, mechanism=preferring(judge), optimiser="reset"),
    )


PROVER = (ProvedSteps(repairs=5),)
VERDICT = (Outcome(right=1.0, wrong=0.0),)

TP_JUDGE = Recipe(
    name="tp-judge",
    title="Theorem Prover as a Judge for Synthetic Data Generation",
    paper="2502.13137",
    claim="3508 samples that a prover judged step by step: Mistral-7B from 62.22 to 67.78 on MultiArith, Llama-2-7B "
    "from 38 to 44 on SVAMP; as a judge F1 is 0.87 where that of o1-mini is 0.72",
    missing="a model that translates steps into Lean and mends its translations: Coq and fixed rules take their place; "
    "problems that a model writes, with their check by translating back, a second model's answers, and LoRA",
    tasks=("search-stream",),
    mechanism=preferring(PROVER),
    scale=Scale(num_prompts=64, group_size=2, max_new=1024, learning_rate=1e-6, num_steps=100),
    models={"policy": Model(), "reference": Model(trained=False, start="policy")},
    stages=_stages(PROVER),
    notes=(
        "Two answers a problem, five repairs and the order, imitation before preference, are the paper's: both answers "
        "verified, and both are imitated; one verified and one false, and they are a pair; else nothing. The paper's "
        "two answers are of two models, here both are of the policy.",
        "beta = 0.1, the scale and halves for the stages are ours.",
        "A step is a line with an equation of whole numbers with + - * and a quotient on a side. `lia` proves its "
        "statement or the negation; else the next repair reads the step anew: signs and words of operators, units and "
        "thousands, the equation within a sentence, what follows its value, chains of equations.",
        "What cannot be stated is no judgement and never false. A step that is true but does not follow counts as "
        "verified, and so does an answer that the task calls wrong: `reward/accuracy` says what the task thinks.",
        "No problem is posed, so that the four checks of statements have nothing to do: a task's statements are right.",
    ),
)

TP_JUDGE_OUTCOME = Like(
    "tp-judge",
    name="tp-judge-outcome",
    claim="a control: the task's verdict on the answer judges, whatever the steps say",
    changes={"mechanism": preferring(VERDICT), "stages": _stages(VERDICT)},
)
