"""Steps are learnt under a label that says what completions from them are worth, and good ones are asked for."""

import dataclasses

from assay.collect import Frozen
from assay.credit import Constant
from assay.methods.rcrl.completions import CompleteSteps
from assay.methods.rcrl.condition import Conditioned
from assay.methods.rcrl.labels import LabelSteps
from assay.objective import NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.scale import Model, Scale

ASKED = Mechanism(
    ask=(Conditioned(label="GOOD"),),
    collect=(Frozen(model="reference"),),
    expand=(CompleteSteps(num=4),),
    curate=(LabelSteps(threshold=0.5),),
    credit=Constant(value=1.0),
    objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean()),
)
BARE = dataclasses.replace(ASKED, ask=())

RCRL = Recipe(
    name="rcrl",
    title="Teaching Large Language Models to Reason with Reinforcement Learning",
    paper="2403.04642",
    claim="steps learnt under labels of their return, and good ones asked for: comparable to PPO and expert iteration, "
    "which is the best of the three in most cases",
    missing="labels before every step: the label stands once, at the end of the question",
    mechanism=ASKED,
    scale=Scale(num_prompts=64, group_size=8, max_new=512, learning_rate=2e-5, num_steps=300, warmup_steps=5),
    models={"policy": Model(), "reference": Model(trained=False, start="policy")},
    stages=(
        Stage("round 1", mechanism=BARE),
        Stage("round 2", optimiser="reset"),
        Stage("round 3", optimiser="reset"),
    ),
    notes=(
        "Labels by completions of each step, [GOOD] above one half and else [BAD], balanced, are from memory of the "
        "paper: neither its full text nor code was found. 4 completions, three rounds and the scale are ours.",
        "A stage is a round: answers are those of the policy with which it began. In the first nobody knows a label, "
        "and questions are asked bare; then they ask for [GOOD], and so do those of every examination.",
        "Labels are balanced by weights: good and bad steps of a step of the run have half the sum each. The mean is "
        "over tokens that train, so that an answer counts under each label with its own steps.",
        "What is learnt of a step is pi(step | question, label, steps before); an answer of a single step has the "
        "label of its verdict.",
        "Completions are on the budget, and in the accuracy of what was written.",
    ),
    deviations=(
        "The paper puts the label before every step. Here it stands once, at the end of the question, and an answer "
        "with steps of both kinds is learnt once under each: the same condition for the step that trains, but the "
        "steps before it do not show theirs. Nothing has to be inserted to ask for [GOOD] throughout.",
    ),
)
