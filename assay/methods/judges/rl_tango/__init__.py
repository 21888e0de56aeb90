"""A verifier that marks each step learns from outcomes alone, beside the generator that its marks reward."""

import dataclasses

from assay.collect import AskJudge
from assay.credit import GroupRelative
from assay.curate import Untrained
from assay.methods.judges.rl_tango.classes import ByClass, CountClasses
from assay.methods.judges.rl_tango.credit import OutcomeAndSteps
from assay.methods.judges.rl_tango.marks import MarkedBy, WellMarked
from assay.objective import KL, Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe, Rule, Stage
from assay.reward import Outcome
from assay.scale import Model, Scale

OBJECTIVE = Objective(gate=Clip(low=0.2, high=0.2), aggregate=SequenceMean(), regularise=(KL(weight=0.001),))
VERIFIER = Rule(
    "verifier",
    reward=(Outcome(right=1.0, wrong=0.0), WellMarked(worth=1.0)),
    credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
    shape=(ByClass(keep=0.9),),
    objective=OBJECTIVE,
    every=3,
)
BOTH = Mechanism(
    expand=(AskJudge(role="verifier", judgements=4),),
    reward=(Outcome(right=1.0, wrong=0.0), MarkedBy(role="verifier")),
    credit=OutcomeAndSteps(start=0.5, end=0.05),
    objective=OBJECTIVE,
    remember=(CountClasses(keep=0.9),),
    rules=(VERIFIER,),
)

RL_TANGO = Recipe(
    name="rl-tango",
    title="RL Tango: Reinforcing Generator and Verifier Together for Language Reasoning",
    paper="2505.15034",
    claim="a verifier of steps that is trained by outcomes, together with the generator: GRPO's 37.0 on five sets of "
    "mathematics becomes 46.1 with Qwen2.5-Math-7B, and its level at step 200 is reached at step 60",
    missing="the fine-tuning of the generator before, and judgements in words: here a judgement is a mark for each "
    "step",
    tasks=("search-stream", "quantities", "trace"),
    mechanism=BOTH,
    scale=Scale(num_prompts=256, group_size=5, max_new=2048, learning_rate=1e-6, num_steps=240),
    models={"policy": Model(), "verifier": Model(), "reference": Model(trained=False)},
    roles={"policy": "policy", "verifier": "verifier"},
    stages=(
        Stage(
            "format",
            share=40,
            mechanism=dataclasses.replace(
                BOTH, curate=(Untrained(role="policy"),), rules=(dataclasses.replace(VERIFIER, every=1),)
            ),
        ),
        Stage("both", share=200),
    ),
    notes=(
        "From the paper: 40 steps of the verifier alone, then one update of the verifier for three of the generator, "
        "200 steps; the verifier's reward for a final verdict that agrees with the outcome and for its form; both "
        "advantages normalised apart; marks of +1 and -1, divided by the number of steps; class factors in inverse "
        "proportion to the root of the counts.",
        "Ours: alpha from 0.5 to 0.05, the moving mean of the class factors (0.9) and that they are 1 on average, 4 "
        "judgements of an answer, whose marks are averaged, the weight of the KL penalty and the scale.",
        "The verifier sees the steps that the task finds, and no label of a step trains it. How often its marks agree "
        "with the task's own can be measured, because the task judges steps exactly. On a task without steps this is "
        "GRPO beside a verifier of outcomes.",
        "In the paper both are instructed models of 7B, to whom the form of a judgement can be described. A small "
        "model must have seen the form: `assay train sft --task trace --task judge:trace` makes a start for both.",
        "Generator and verifier start from one model here; in the paper the generator was fine-tuned before.",
    ),
)
