"""The prompt names a budget of tokens, and an answer of another length loses reward."""

import dataclasses

from assay.credit import GroupRelative
from assay.methods.shaping.l1.adherence import Adherence
from assay.methods.shaping.l1.budget import Budget
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
        "Values are those of the published code and scripts (cmu-l3/l1): budgets from 100 to 4000, a penalty of "
        "0.0003 (1/3333) a token. 700 steps are the paper's.",
        "All answers of a group have one budget, drawn anew at every draw of the problem; in the published code every "
        "row of the data has a fixed budget. The reward counts all tokens of the answer, the end token included.",
        "A wrong answer of the right length has reward 0, and so has a right answer that misses its budget by 3333 "
        "tokens.",
        "In compact wording the budget stands in brackets after the question.",
        "The aggregation is that of the framework's version at the time; so are ddof and epsilon.",
    ),
    deviations=(
        "The framework's defaults, which neither paper nor scripts mention, have an entropy bonus of 0.001 and, in "
        "the configuration published two months later, a dual clip of 3; neither is used here.",
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
        "The recipe continues l1-exact: give that run as `--model`. Half the prompts say exactly, half at most. 120 "
        "steps are the paper's; rate and length are the script's.",
    ),
    deviations=(
        *L1_EXACT.deviations,
        "The released reward of at-most prompts is (clip((n - T) / 3333, -1, 1) + 1) / 2, half as steep as here. The "
        "released code multiplies it by correctness, which would leave exact rows without any reward, so exact rows "
        "use the sum here. The released script sets no reward option and trains on correctness.",
    ),
)
