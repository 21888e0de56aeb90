"""Beside its answers, the policy's judgements are judged by itself too, so that it learns to judge."""

import dataclasses

from assay.collect import AskJudge, AskPairs, Frozen
from assay.credit import GroupRelative
from assay.curate import RankedPairs, TrainAt, Untrained
from assay.methods.judges.meta_rewarding.elo import RatedBy
from assay.objective import NoRatio, Objective, Open
from assay.objective.pairwise import DPO
from assay.recipe import Mechanism, Recipe, Rule, Stage
from assay.reward import Outcome, ScoredBy
from assay.scale import Model, Scale

OBJECTIVE = Objective(whole=DPO(beta=0.1), ratio=NoRatio(), gate=Open())
CREDIT = GroupRelative(scale="none")
WIDEST = 0.4  # the tier of the last round


def _both(tier: float) -> Mechanism:
    """A round in which answers and judgements are paired."""
    return Mechanism(
        expand=(AskJudge(role="judge", judgements=11), AskPairs(role="meta", of="judge", disputed=True)),
        collect=tuple(Frozen(model="reference", role=role) for role in ("policy", "judge", "meta")),
        reward=(ScoredBy(role="judge"),),
        curate=(
            TrainAt(temperature=1.0),
            Untrained(role="meta"),
            RankedPairs(roles=("policy", "judge"), tier=tier, extremes=("judge",)),
        ),
        credit=CREDIT,
        objective=OBJECTIVE,
        rules=(
            Rule("judge", reward=(RatedBy(role="meta", prior=0.01),), credit=CREDIT, objective=OBJECTIVE),
            Rule("meta", reward=(Outcome(),), credit=CREDIT, objective=OBJECTIVE),
        ),
    )


def _answers(tier: float) -> Mechanism:
    """A round in which answers alone are paired."""
    return dataclasses.replace(
        _both(tier),
        expand=(AskJudge(role="judge", judgements=11),),
        collect=tuple(Frozen(model="reference", role=role) for role in ("policy", "judge")),
        curate=(TrainAt(temperature=1.0), Untrained(role="judge"), RankedPairs(roles=("policy",), tier=tier)),
        rules=(Rule("judge", reward=(Outcome(),), credit=CREDIT, objective=OBJECTIVE),),
    )


META_REWARDING = Recipe(
    name="meta-rewarding",
    title="Meta-Rewarding Language Models: Self-Improving Alignment with LLM-as-a-Meta-Judge",
    paper="2407.19594",
    claim="a policy that also judges its judgements: Llama-3-8B-Instruct from 22.9 to 39.4% length-controlled wins on "
    "AlpacaEval 2, where self-rewarding with the same control of length reaches 35.5",
    missing="the imitation of judgements before the first round, limits on the characters of the chosen answer and "
    "judgement, ten epochs over the pairs of a round, and prompts in words",
    tasks=("constraints",),
    mechanism=_both(0.32),
    scale=Scale(
        num_prompts=16,
        group_size=7,
        max_new=1024,
        learning_rate=5e-6,
        num_steps=400,
        temperature=0.8,
        top_p=0.95,
        schedule="cosine",
    ),
    models={"policy": Model(), "reference": Model(trained=False, start="policy")},
    roles={"policy": "policy", "judge": "policy", "meta": "policy"},
    stages=(
        Stage("round 1", optimiser="reset", mechanism=_both(0.0)),
        Stage("round 2", optimiser="reset", mechanism=_both(0.32)),
        Stage("round 3", optimiser="reset", mechanism=_answers(0.32)),
        Stage("round 4", optimiser="reset", mechanism=_answers(WIDEST)),
    ),
    notes=(
        "7 answers, 11 judgements of each, the tiers of the rounds, beta, the rate with its cosine, temperature and "
        "top-p are the paper's, and so is that rounds 3 and 4 pair answers alone, because the meta-judge is worse by "
        "then. 16 prompts a step give pairs for about one of the paper's batches of 32; num_steps is ours.",
        "The answer of a problem whose scores vary most has its judgements compared, each with each in both orders: "
        "110 comparisons a problem. `--stages.0.mechanism.expand.1.most` takes fewer.",
        "The meta-judge is asked as `compare:judge:NAME`: which of two judgements is better. Wins weigh in inverse "
        "proportion to how often their place wins, 1 on average; this form and a prior of 0.01 on ratings are ours.",
        "Nobody trains the meta-judge, and the verifier rewards nobody: it measures how often answers, judgements and "
        "comparisons of judgements are right.",
    ),
)
