"""Recipes that show a reward or a filter of lengths on a method that is otherwise known."""

import dataclasses

from assay.credit import GroupRelative
from assay.curate import FirstGroups, MixedGroups
from assay.methods.length.reward import Shortness, StopProperly
from assay.methods.length.whole import WholeAnswers
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Like, Mechanism, Recipe, Stage
from assay.reward import Outcome
from assay.scale import Scale

PLAIN = Mechanism(
    reward=(Outcome(right=1.0, wrong=0.0),),
    credit=GroupRelative(scale="none"),
    objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
)
SHORTER = dataclasses.replace(PLAIN, reward=(Outcome(right=1.0, wrong=0.0), Shortness(weight=1.0)))

LEN_KIMI = Recipe(
    name="len-kimi",
    title="Kimi k1.5: Scaling Reinforcement Learning with LLMs",
    paper="2501.12599",
    claim="a reward for being short beside the other answers, after a first stretch without it, makes short thinking "
    "as good as 60.8 on AIME with 3,272 tokens on average",
    mechanism=SHORTER,
    scale=Scale(num_prompts=128, group_size=8, max_new=8192, learning_rate=1e-6, num_steps=500),
    stages=(Stage("free", share=0.2, mechanism=PLAIN), Stage("short", share=0.8)),
    notes=(
        "The length reward is the report's, with its warm-up without it; weight, shares and the whole scale are ours.",
        "The advantage is centred by the group's mean as there; the pull to the last policy by squared log-ratios is "
        "not part of this recipe, a clip stands for it.",
        "A wrong answer that is short earns nothing: its part is never positive.",
    ),
)

LEN_DAPO = Like(
    "dapo",
    name="len-dapo",
    claim="leaving truncated answers out of the loss: 36 in place of 30 on AIME 2024",
    changes={
        "mechanism.reward": (Outcome(right=1.0, wrong=-1.0),),
        "mechanism.curate": (MixedGroups(by="accuracy"), FirstGroups(), WholeAnswers()),
    },
    notes=(
        "DAPO with overlong filtering in the place of the soft punishment. The paper's table adds the punishment two "
        "rows after the filter and does not say whether the filter stays.",
        "A truncated answer leaves the denominator and stays in its group's statistics. What stopped by itself at the "
        "limit is whole.",
        "Endless repetition is not punished either.",
        "The claim is the first step of the paper's table 1: it adds the filter to GRPO, not to all of DAPO.",
    ),
)

LEN_STOP = Like(
    "dapo",
    name="len-stop",
    title="ProRL: Prolonged Reinforcement Learning Expands Reasoning Boundaries in Large Language Models",
    paper="2505.24864",
    claim="answers that do not stop by themselves are worth less, however they are judged",
    changes={"mechanism.reward": (StopProperly(right=1.0, wrong=0.0, cut=-0.5),)},
    notes=(
        "DAPO with the stop-properly penalty of OpenRLHF in the place of the soft punishment: cut from 0 to 1 "
        "multiplies the reward of a truncated answer, below 0 it is that reward. The value is ours.",
        "Groups that are all wrong are left out by accuracy, though some of their answers stopped and some did not.",
    ),
)
