"""The policy scores its own answers, and each round of DPO prefers those that it scored highest."""

from assay.collect import AskJudge, Frozen
from assay.credit import GroupRelative
from assay.curate import RankedPairs, TrainAt, Untrained
from assay.objective import NoRatio, Objective, Open
from assay.objective.pairwise import DPO
from assay.recipe import Mechanism, Recipe, Rule, Stage
from assay.reward import Outcome, ScoredBy
from assay.scale import Model, Scale

OBJECTIVE = Objective(whole=DPO(beta=0.1), ratio=NoRatio(), gate=Open())
CREDIT = GroupRelative(scale="none")

SELF_REWARDING = Recipe(
    name="self-rewarding",
    title="Self-Rewarding Language Models",
    paper="2401.10020",
    claim="three rounds in which Llama-2-70B judges its own answers: 9.94, 15.38 and 20.44% wins on AlpacaEval 2, and "
    "it judges better too",
    missing="prompts that the policy writes itself, and the imitation of instructions and judgements before the first "
    "round",
    tasks=("constraints",),
    mechanism=Mechanism(
        expand=(AskJudge(role="judge", judgements=3),),
        collect=(Frozen(model="reference", role="policy"), Frozen(model="reference", role="judge")),
        reward=(ScoredBy(role="judge"),),
        curate=(TrainAt(temperature=1.0), Untrained(role="judge"), RankedPairs(roles=("policy",), tier=0.0)),
        credit=CREDIT,
        objective=OBJECTIVE,
        rules=(Rule("judge", reward=(Outcome(),), credit=CREDIT, objective=OBJECTIVE),),
    ),
    scale=Scale(
        num_prompts=16,
        group_size=4,
        max_new=1024,
        learning_rate=1e-6,
        num_steps=300,
        temperature=0.7,
        top_p=0.9,
    ),
    models={"policy": Model(), "reference": Model(trained=False, start="policy")},
    roles={"policy": "policy", "judge": "policy"},
    stages=tuple(Stage(f"round {number}", optimiser="reset") for number in (1, 2, 3)),
    notes=(
        "4 answers, the mean of 3 judgements, the highest against the lowest score and nothing at a tie, temperature "
        "0.7, top-p 0.9 and beta 0.1 are the paper's, from memory; the rate and the rounds of equal length are ours.",
        "A stage is a round: the policy at its beginning writes and judges all answers of the round, and is the "
        "reference.",
        "The score is the number of rules that the answer keeps in the judge's eyes, as the paper's is a sum of five "
        "points; on tasks without rules it is 0 or 1, and ties are frequent. A judgement that cannot be read does not "
        "count.",
        "The verifier rewards nobody. It says how often answers (`reward/accuracy`) and judgements are right, so that "
        "the true gain can be seen beside the scores.",
        "A small model must be able to judge before: the base `judges` is one. Nothing keeps it able to: judging is "
        "not trained (`meta-rewarding` does that).",
    ),
)
