"""Answers that the limit cut earn less; this replaces DAPO's soft penalty for overlong answers."""

from assay.methods.shaping.len_stop.reward import StopProperly
from assay.recipe import Like

LEN_STOP = Like(
    "dapo",
    name="len-stop",
    title="ProRL: Prolonged Reinforcement Learning Expands Reasoning Boundaries in Large Language Models",
    paper="2505.24864",
    claim="answers that do not stop by themselves earn less, whatever their verdict",
    changes={"mechanism.reward": (StopProperly(right=1.0, wrong=0.0, cut=-0.5),)},
    notes=(
        "DAPO with the stop-properly penalty of OpenRLHF in place of the soft penalty. A `cut` from 0 to 1 multiplies "
        "the reward of a truncated answer; a `cut` below 0 replaces that reward. The value is ours.",
        "Groups that are all wrong are dropped by accuracy, even if some of their answers stopped and some did not.",
    ),
)
