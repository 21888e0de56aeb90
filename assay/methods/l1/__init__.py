"""The prompt names a budget of tokens, and leaving it costs reward."""

import dataclasses

from assay.credit import GroupRelative
from assay.methods.l1.adherence import Adherence
from assay.methods.l1.budget import Budget
from assay.objective import KL, Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

EXACT = Mechanism(
    ask=(Budget(low=100, high=4000, at_most=0.0),),
    reward=(Outcome(right=1.0, wrong=0.0), Adherence(unit=3333)),
    credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
    objective=Objective(
        gate=Clip(low=0.2, high=0.2), aggregate=TokenMean(), regularise=(KL(weight=0.001, estimator="k3"),)
    ),
)

L1_EXACT = Recipe(
    name="l1-exact",
    title="L1: Controlling How Long A Reasoning Model Thinks With Reinforcement Learning",
    paper="2503.04697",
    claim="answers as long as the prompt asks for, with one model for all lengths: better than S1 at every budget",
    mechanism=EXACT,
    scale=Scale(
        num_prompts=128,
        group_size=16,
        max_new=4096,
        learning_rate=1e-6,
        num_steps=700,
        num_minibatches=2,
        temperature=0.6,
    ),
    notes=(
        "Values are those of the published code and scripts (cmu-l3/l1): budgets from 100 to 4000, 0.0003 (1/3333) a "
        "token. 700 steps are the paper's.",
        "All answers of a group have one budget, drawn anew at every draw of the problem; there every row of the data "
        "has its own. The reward counts all tokens of the answer, its end too.",
        "A wrong answer of the right length is worth 0, a right one 3333 tokens off as well.",
        "In compact wording the budget stands in brackets after the question.",
        "The aggregation is that of the framework's version then; ddof and epsilon likewise.",
    ),
    deviations=(
        "The framework's own defaults, which neither paper nor scripts mention, have an entropy bonus of 0.001, and in "
        "the configuration that was published two months later a dual clip of 3; not here.",
    ),
)

L1_MAX = dataclasses.replace(
    L1_EXACT,
    name="l1-max",
    claim="answers at most as long as the prompt asks for, shorter where the problem is easy",
    mechanism=dataclasses.replace(
        EXACT,
        ask=(Budget(low=100, high=4000, at_most=0.5),),
        reward=(Outcome(right=1.0, wrong=0.0), Adherence(unit=3333, margin=0.5)),
    ),
    scale=dataclasses.replace(L1_EXACT.scale, max_new=4500, learning_rate=4e-6, num_steps=120),
    notes=(
        *L1_EXACT.notes,
        "It goes on from l1-exact: give it that run as --model. Half the prompts say exactly, half at most; 120 steps "
        "are the paper's, rate and length the script's.",
    ),
    deviations=(
        *L1_EXACT.deviations,
        "The released reward of at-most prompts is (clip((n - T) / 3333, -1, 1) + 1) / 2, half as steep; "
        "multiplied by correctness it pays exact rows nothing at all, so those go by the sum here; and the released "
        "script sets no reward option and trains on correctness.",
    ),
)
