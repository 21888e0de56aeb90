"""Two phases: imitation and a value model, then a tree whose nodes both the value model and simulations evaluate."""

from assay.ask import Demonstrate
from assay.collect import ContinueSteps
from assay.credit import Constant, ReturnToGo
from assay.curate import StatisticsOnly, Untrained
from assay.curate.continued import CONTINUATION
from assay.forwards import RewardModel
from assay.objective import KL, Clip, NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import Affine, Delta, LearntSteps, Outcome, SampledSteps, Squashed
from assay.scale import Model, Scale

VALUE = RewardModel(model="value", of=SampledSteps(estimate="soft", last=True), loss="labels", rate=5.0, num_epochs=4)
IMITATE = Mechanism(
    ask=(Demonstrate(),),
    credit=Constant(value=1.0),
    objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean(), injected="train"),
)
EVALUATE = Mechanism(
    expand=(ContinueSteps(branches=2),), curate=(Untrained(role="policy"),), forwards=(VALUE,), credit=ReturnToGo()
)

X1 = Recipe(
    name="x1",
    title="Reasoning Language Models: A Blueprint",
    paper="2501.11223",
    claim="two phases of training, familiar distributions of training data, and a value model beside the policy help; "
    "no record of accuracy",
    missing="Monte-Carlo tree search with its score of nodes and its backup with discount 0.96, graphs and nested "
    "structures of reasoning, the operators that refine, aggregate and prune, servers of both models, and DPO in the "
    "second phase; `deepsearch` has a search",
    tasks=("search-stream", "quantities", "trace"),
    mechanism=Mechanism(
        expand=(ContinueSteps(branches=2),),
        reward=(
            Outcome(right=1.0, wrong=0.0),
            Affine(of=Delta(of=Squashed(of=LearntSteps(model="value"))), times=0.5),
            Affine(of=Delta(of=SampledSteps(estimate="soft", last=True)), times=0.5),
        ),
        curate=(StatisticsOnly(tag=CONTINUATION),),
        forwards=(VALUE,),
        credit=ReturnToGo(),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2), aggregate=TokenMean(), regularise=(KL(weight=0.01, estimator="k3"),)
        ),
    ),
    scale=Scale(num_prompts=64, group_size=8, max_new=1024, learning_rate=1e-6, num_steps=300),
    models={"policy": Model(), "value": Model(output="value")},
    stages=(
        Stage("policy", share=0.1, mechanism=IMITATE),
        Stage("value", share=0.2, mechanism=EVALUATE),
        Stage("search", share=0.7, optimiser="reset"),
    ),
    notes=(
        "A composition of ours by the paper's blueprint; no other recipe has all of its components, as the table in "
        "docs/blueprint.md shows. From the published code: two new steps at a node, clip 0.2, KL weight 0.01, and that "
        "half of a node's value is the value model's and half that of simulations, Q = (1 - 1/2) Q_model + 1/2 Q_sim.",
        "Phase 1: the policy imitates worked solutions; then the value model learns the share of right answers among "
        "two that go on from the end of a step. Phase 2: each answer is the trunk of a tree with two branches from "
        "each step, a node earns the outcome and the value of its step, less the mean return of the group, and both "
        "models learn. `delta` makes the value of a step what is still to come there, however many steps follow.",
        "The baseline is one constant of the group. Where all answers are right and all values 1, last steps have an "
        "advantage below 0 and others above: that adds noise, and on average nothing.",
        "Shares of the stages, scale, and four optimiser steps of the value model on the answers of a step, at five "
        "times the policy's rate, are ours.",
    ),
)
