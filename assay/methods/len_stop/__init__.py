"""Answers that the limit cut are paid less, in the place of DAPO's soft punishment."""

from assay.methods.len_stop.reward import StopProperly
from assay.recipe import Like

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
