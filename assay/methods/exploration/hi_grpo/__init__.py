"""An answer of two turns, a plan and what follows it: each has rewards and group statistics of its own."""

import dataclasses

from assay.methods.exploration.hi_grpo.credit import TurnRelative
from assay.methods.exploration.hi_grpo.mean import TurnMean
from assay.methods.exploration.hi_grpo.turns import InTurn
from assay.objective import KL, Clip, Objective
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome, Scored, Sum
from assay.scale import Model, Scale

PLAN = Sum(of=(Scored(name="plan-outline"), Scored(name="plan-boxes")), name="plan")
DRAWN = Sum(of=(Scored(name="cells"), Scored(name="agreement"), Outcome()), name="drawn")

HI_GRPO = Recipe(
    name="hi-grpo",
    title="Are We Ready for RL in Text-to-3D Generation? A Progressive Investigation",
    paper="2512.10949",
    claim="a coarse shape first and its texture then, each with an ensemble of rewards: CLIP 28.5 on MME-3DR, where "
    "Trellis has 23.4 and the model before training 19.8",
    missing="meshes in three dimensions and their views, preference models of pictures, dynamic sampling, and a second "
    "turn that does not read the tokens of the first shape",
    tasks=("drawing",),
    mechanism=Mechanism(
        reward=(InTurn(of=PLAN, turn=0), DRAWN),
        credit=TurnRelative(backflow=1.0, ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.28), aggregate=TurnMean(), regularise=(KL(weight=0.001),)),
    ),
    scale=Scale(num_prompts=64, group_size=8, max_new=4096, learning_rate=1e-6, num_steps=200),
    models={"policy": Model(), "reference": Model(trained=False)},
    notes=(
        "From the paper: groups of 8, two levels with ensembles of rewards of their own, advantages normalised in the "
        "group for each level, the reward of the second level added to that of the first, a token mean for each "
        "level and the sum of both, the decoupled clip, and a KL penalty, without which it is worse. Lambda = 1, "
        "ensembles whose members all go from 0 to 1 and weigh the same, the clip's values, the weight of the penalty "
        "and the scale are ours.",
        "The task `drawing` stands for the objects of the paper, and a program for its preference models: the plan in "
        "words is rendered as an outline, which the policy reads, and then it draws the picture. The plan is judged by "
        "what it covers and by its boxes; the drawing by its colours, by its agreement with the plan, as the paper "
        "judges views by their agreement, and by whether it is right.",
        "An answer without a reply of an environment has one turn, which earns both ensembles: on other tasks this is "
        "GRPO with a token mean.",
    ),
)

HI_GRPO_APART = dataclasses.replace(
    HI_GRPO,
    name="hi-grpo-apart",
    claim="-: without the flow from the drawing to the plan, which the paper has",
    missing="",
    mechanism=dataclasses.replace(HI_GRPO.mechanism, credit=TurnRelative(backflow=0.0, ddof=1, epsilon=1e-6)),
)
