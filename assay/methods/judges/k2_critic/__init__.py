"""A critic compares answers that nothing else can judge, and learns to compare where a verifier knows better."""

from assay.collect import AskPairs
from assay.credit import GroupRelative
from assay.curate import Untrained
from assay.methods.judges.k2_critic.grounded import Grounded
from assay.methods.judges.k2_critic.preferred import PreferredBy
from assay.objective import NoRatio, Objective, Open, SequenceSum
from assay.objective.squared_ratio import SquaredRatio
from assay.recipe import Mechanism, Recipe, Rule
from assay.reward import OfTasks, Outcome
from assay.scale import Model, Scale
from assay.tasks.judging import COMPARE

VERIFIABLE = ("trace", "quantities", "search-stream", "countdown")
"""The tasks whose verifier is believed. Answers to all others are judged by the critic."""

CREDIT = GroupRelative(scale="none")
OBJECTIVE = Objective(ratio=NoRatio(), gate=Open(), aggregate=SequenceSum(), regularise=(SquaredRatio(weight=0.1),))

K2_CRITIC = Recipe(
    name="k2-critic",
    title="Kimi K2: Open Agentic Intelligence",
    paper="2507.20534",
    claim="a critic that is kept right by verifiable problems extends reinforcement learning to what cannot be "
    "verified; the report has no number for it alone",
    missing="rubrics in words in the critic's prompt, preference data on which critic and policy begin, a budget of "
    "tokens for each task, imitation beside the policy loss, a temperature that falls, and ranks of answers with a "
    "pivot among them: comparisons are of pairs",
    tasks=("constraints", *VERIFIABLE),
    mechanism=Mechanism(
        expand=(AskPairs(role="critic", of="policy", judgements=2),),
        reward=(
            OfTasks(of=Outcome(right=1.0, wrong=0.0), tasks=VERIFIABLE),
            OfTasks(of=PreferredBy(role="critic"), tasks=VERIFIABLE, others=True),
        ),
        credit=CREDIT,
        objective=OBJECTIVE,
        curate=(Untrained(role="critic", but=tuple(COMPARE + name for name in VERIFIABLE)),),
        rules=(Rule("critic", reward=(Grounded(),), credit=CREDIT, objective=OBJECTIVE),),
    ),
    scale=Scale(num_prompts=128, group_size=4, max_new=8192, learning_rate=1e-6, num_steps=500, num_minibatches=4),
    models={"policy": Model(), "critic": Model()},
    roles={"policy": "policy", "critic": "critic"},
    notes=(
        "Give a mixture of tasks, for example `--task constraints --task countdown`: answers to `constraints` are "
        "rewarded by the critic alone, and its verifier only measures (`reward/accuracy`).",
        "Each pair of a group is compared twice in both orders, and an answer earns its share of wins. The critic "
        "earns 1 for a verdict that agrees with the verifier of a verifiable problem; its verdicts on other answers do "
        "not train it. Win rates of a round robin, groups of 4, two verdicts for each order, which are a group of the "
        "critic's, and an update of the critic in each step are ours.",
        "Objective and scale are those of `kimi-k1.5`, whose form the report keeps.",
        "Critic and policy are two parameter sets that start from one model; `--roles.critic policy` makes them one.",
        "The answers to problems of the judged tasks stand for open-ended ones: that their rules are checked exactly "
        "shows whether the critic is deceived.",
    ),
)
