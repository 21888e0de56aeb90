"""A critic that is told what only the user knows says which of several actions at a turn is better; pairs of them train
the policy, which is not told.
"""

from assay.collect import Frozen
from assay.credit import GroupRelative
from assay.curate import NoTraining, OwnTokens, TrainAt
from assay.methods.losses.sweet_rl.critic import LearnTurns
from assay.methods.losses.sweet_rl.turns import Halves, TurnActions, TurnAdvantage
from assay.objective import NoRatio, Objective, Open
from assay.objective.pairwise import DPO
from assay.recipe import Mechanism, Recipe, Rule, Stage
from assay.reward import Outcome
from assay.scale import Model, Scale

OBJECTIVE = Objective(whole=DPO(beta=0.1, likelihood=0.01), ratio=NoRatio(), gate=Open())
CREDIT = GroupRelative(scale="none")

CRITIC = Mechanism(
    collect=(Frozen(model="reference"),),
    reward=(Outcome(right=1.0, wrong=0.0),),
    curate=(NoTraining(),),
    forwards=(LearnTurns(model="critic", reference="reference", beta=0.1, rate=1.0, num_epochs=4),),
    credit=CREDIT,
    objective=Objective(ratio=NoRatio(), gate=Open()),
)

TURNS = Mechanism(
    expand=(TurnActions(role="turn", of="policy", count=16, most=1),),
    collect=(Frozen(model="reference"), Frozen(model="reference", role="turn")),
    reward=(Outcome(right=1.0, wrong=0.0),),
    curate=(TrainAt(temperature=1.0), OwnTokens(), Halves(role="turn", most=4)),
    credit=CREDIT,
    objective=OBJECTIVE,
    rules=(
        Rule(
            "turn",
            verified=False,
            reward=(TurnAdvantage(model="critic", reference="reference"),),
            credit=CREDIT,
            objective=OBJECTIVE,
        ),
    ),
)

SWEET_RL = Recipe(
    name="sweet-rl",
    title="SWEET-RL: Training Multi-Turn LLM Agents on Collaborative Reasoning Tasks",
    paper="2503.15478",
    claim="a critic of turns that is told what the policy is not: 6 points above other RL over several turns on "
    "ColBench, and Llama-3.1-8B reaches GPT-4o there",
    missing="ColBench itself, programs and pages that a user describes; a stored set of histories, of which one in ten "
    "has its turns sampled again",
    tasks=("wish",),
    mechanism=TURNS,
    scale=Scale(num_prompts=16, group_size=3, max_new=1024, learning_rate=2e-7, num_steps=400),
    models={"policy": Model(), "critic": Model(), "reference": Model(trained=False)},
    roles={"policy": "policy", "turn": "policy"},
    stages=(Stage("critic", share=1, mechanism=CRITIC), Stage("turns", share=1)),
    notes=(
        "3 answers of a problem, the first right one against each wrong one, beta 0.1 of both losses, 4 passes of the "
        "critic over its pairs, 16 actions at a turn, 4 pairs of one from the better and one from the worse half, 0.01 "
        "of the winner's likelihood and the rate of 2e-7 for both are the release's. 16 problems, num_steps and equal "
        "stages are ours: the release has batches of 8 pairs, and one pass of the policy over its own.",
        "The frozen base writes all histories and actions, as in the release, whose policy learns from stored ones. "
        "Each step has new problems here. In a step of the critic 4 optimiser steps see the pairs of that step, where "
        "the release passes 4 times over all of them. In the second stage one of the three answers of a problem has "
        "its turns sampled again.",
        "What is hidden stands before all that the policy reads, as `In light that the final answer is: ...`; in "
        "compact wording it stands there bare. It is what the task says that only the user knows, and the answer of "
        "the worked solution where it says nothing.",
        "An action ends where the world would reply. Pairs of equal worth are left out. The likelihood is a mean over "
        "the winner's own tokens.",
        "Where a model plays the user, the reference does, as each recipe's frozen base plays seats that do not train.",
    ),
    deviations=(
        "The release trains its critic on the mean over all tokens of an answer. The paper, and this recipe, sum over "
        "turns the mean of each.",
    ),
)
