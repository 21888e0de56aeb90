"""Formulas for data, proposed in turns with an evaluator; the logarithm of the best one's error is the reward."""

from assay.ask import LimitCalls
from assay.credit import GroupRelative
from assay.methods.turns.sr_scientist.log_error import LogError
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

SR_SCIENTIST = Recipe(
    name="sr-scientist",
    title="SR-Scientist: Scientific Equation Discovery With Agentic AI",
    paper="2510.11661",
    claim="an agent that tries equations and reads their errors over long searches is 6 to 35 % above baselines in "
    "four sciences, and learns further from a reward by the logarithm of the error",
    missing="programs that analyse the data, equations as programs with up to ten constants, and a goal that is "
    "tightened from one iteration to the next",
    tasks=("equation", "equation-memory"),
    mechanism=Mechanism(
        ask=(LimitCalls(most=20, tools=("fit",)),),
        reward=(LogError(worst=1.0, goal=0.001),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=32, group_size=8, max_new=10240, learning_rate=1e-6, num_steps=60),
    notes=(
        "32 problems of 8 answers, one update a step, 20 turns, 10240 tokens with the replies, the rate, and neither "
        "KL nor entropy are those of the released script; the clip and the mean over tokens are the defaults of verl. "
        "The script reads its data twice; 60 steps are ours.",
        "The equation with the least error at the points that are shown is measured at points held back, as in the "
        "release: choosing by the latter would let an answer try until one fits by chance.",
        "In `equation-memory` a solver forgets its tries after three of them and reads the three best formulas "
        "instead, in training too. The paper begins anew at inference, after up to 25 turns, and trains within one "
        "context, as in `equation`.",
        "A play has six tries at most, whatever the limit of turns.",
    ),
    deviations=(
        "The paper fits from ones alone. Here a fit has up to sixteen fixed beginnings, so that a right form is not "
        "missed by a bad one.",
    ),
)
