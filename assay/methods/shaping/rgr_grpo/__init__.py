"""Rubrics reward answers and say what the best of a group lacks; the policy refines it, and learns from that too."""

import dataclasses

from assay.credit import Constant, GroupRelative
from assay.methods.shaping.rgr_grpo.gate import Printed
from assay.methods.shaping.rgr_grpo.refine import REFINED, AllButOne, Refine, TaughtRefinement
from assay.methods.shaping.rgr_grpo.rubric import MetSteps
from assay.objective import Case, NoRatio, Objective, Open, Plain, Probability, Shaped, Tagged, TokenMean
from assay.recipe import Like, Mechanism, Recipe, Stage
from assay.reward import Anchors, JudgedByRubric, SoftOverlong
from assay.scale import Scale

FIXED = (
    "The final answer is correct.",
    "Each step follows from the steps before it.",
    "The response states one final answer, in the form that the problem asks for.",
)
"""For problems without a rubric of their own."""

REFINING = Mechanism(
    ask=(AllButOne(),),
    expand=(Refine(),),
    reward=(JudgedByRubric(criteria=FIXED, anchors=Anchors(facts=True)), SoftOverlong(buffer=819)),
    credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
    objective=Objective(
        gate=Plain(),
        aggregate=TokenMean(),
        cases=(Case(over=Tagged(REFINED), ratio=Probability(), gate=Shaped(gamma=0.1)),),
    ),
)
TEACH = Mechanism(
    ask=(TaughtRefinement(),),
    credit=Constant(value=1.0),
    objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean(), injected="train"),
)
NOTES = (
    "From the paper, as two readers report it: the reward, which is whole for an answer that meets every factual "
    "criterion and else the weighted share; seven answers and one refinement of the best of them, or an eighth answer "
    "if it meets all criteria; one group of eight; no clip and no KL penalty; 96 problems, 400 steps, the rate. Ours: "
    "LUFFY's shaping with gamma 0.1 (`rgr-grpo-printed` has the printed form), the wording of the prompt, the limit, "
    "and DAPO's penalty as the length penalty, whose form is not reported.",
    "The refined answer counts in the group whatever its reward, and it is trained as an answer to the question alone. "
    "It is sampled with help, so that its ratio is the probability, as for an expert's text.",
)

RGR_GRPO = Recipe(
    name="rgr-grpo",
    title="Reward and Guidance through Rubrics: Promoting Exploration to Improve Multi-Domain Reasoning",
    paper="2511.12344",
    claim="rubrics as dense rewards and as guidance: 7.0, 5.4, 8.4 and 6.6 % above rewards for right answers in "
    "mathematics, physics, chemistry and general reasoning with 7B; 3.7 on average above the rubrics as rewards alone",
    missing="the writing of rubrics from questions and reference answers by a model",
    mechanism=REFINING,
    scale=Scale(num_prompts=96, group_size=8, max_new=4096, learning_rate=1e-6, num_steps=400),
    notes=(
        *NOTES,
        'The rubric is the column `rubric` of the data; `"factual": true` marks what the answer must say. Problems '
        "without one have a fixed rubric of ours, none of it factual. What the judge can be made to believe of factual "
        "criteria is the whole reward: give them a `rule` where code can check them.",
    ),
)

RGR_GRPO_WORKED = dataclasses.replace(
    RGR_GRPO,
    name="rgr-grpo-worked",
    missing="",
    tasks=("trace", "quantities"),
    mechanism=dataclasses.replace(REFINING, reward=(MetSteps(anchors=Anchors(facts=True)), SoftOverlong(buffer=819))),
    stages=(Stage("teach", share=0.2, mechanism=TEACH), Stage("learn", share=0.8)),
    notes=(
        *NOTES,
        "Here a program checks the rubric: each step of the worked solution is a criterion of weight 1, and the answer "
        "the factual one, which weighs as much as all steps. It stands for rubrics that a model wrote from a "
        "reference, and like these it says much of the solution to whoever refines.",
        "A refinement reads an answer: in the 384 tokens of the base of `trace` an answer may have 100 "
        "(`--scale.max-new 100`).",
        "A small model follows no instruction: in the first stage it imitates worked solutions, half of them as "
        "refinements of spoilt ones. A model that can be told leaves it out (`--stages.0.share 0`).",
        "Eight steps of it were too few on mod-chain-7: every refinement was worse than the answer that it began from, "
        "and what was gained came from the rubric. Look at the rewards of rows tagged `refined` before you believe in "
        "them, and give the first stage more steps.",
    ),
)

RGR_GRPO_PRINTED = Like(
    "rgr-grpo",
    name="rgr-grpo-printed",
    claim="the form of the shaping as the paper prints it; nothing is reported of it alone",
    changes={
        "mechanism.objective.cases": (Case(over=Tagged(REFINED), ratio=Probability(), gate=Printed(gamma=0.1)),),
    },
)
