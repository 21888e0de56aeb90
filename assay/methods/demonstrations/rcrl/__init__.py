"""Each step of an answer is learnt under a label that says how good it is; prompts then ask for good steps."""

import dataclasses

from assay.collect import Frozen
from assay.credit import Constant
from assay.methods.demonstrations.rcrl.completions import CompleteSteps
from assay.methods.demonstrations.rcrl.condition import Conditioned
from assay.methods.demonstrations.rcrl.labels import LabelSteps
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
    claim="steps learnt under labels of their return, with prompts that ask for good ones: comparable to PPO and "
    "expert iteration, which is the best of the three in most cases",
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
        "Labels from completions of each step, [GOOD] above one half and otherwise [BAD], in balance, are from memory "
        "of the paper: we found neither its full text nor code. 4 completions, three rounds and the scale are ours.",
        "A stage is a round: the policy at its beginning samples all answers of the round. The first round asks "
        "without a label, because the policy does not know labels yet. Later rounds ask for [GOOD], and so does every "
        "evaluation.",
        "Weights balance the labels: in each step of the run the good steps have half the total weight and the bad "
        "steps the other half. The mean runs over the tokens that train, so that an answer counts under each label "
        "with the steps of that label.",
        "The policy learns pi(step | question, label, earlier steps). An answer of a single step has the label of its "
        "verdict.",
        "Completions count towards the budget and in the accuracy of the sampled answers.",
    ),
    deviations=(
        "The paper puts a label before every step. Here the label stands once, at the end of the question, and an "
        "answer with steps of both kinds is learnt once under each label. The step that trains has the paper's "
        "condition, but the steps before it do not show their labels. To ask for [GOOD] throughout, nothing has to be "
        "inserted into the answer.",
    ),
)
