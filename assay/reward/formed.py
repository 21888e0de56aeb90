"""A reward for what a response looks like, whatever its answer: the strict format."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.types import Episode, Reward
from assay.verifiers.formats import formed


def well_formed(episodes: Sequence[Episode], *, right: float, wrong: float, opened: bool) -> list[Reward | None]:
    """`right` if the response has exactly the format, else `wrong`."""
    return [Reward("well-formed", right if has_form(episode, opened=opened) else wrong) for episode in episodes]


def has_form(episode: Episode, *, opened: bool) -> bool:
    """Whether the response has exactly the format of its wording; `opened`: the prompt began the thought."""
    problem = episode.request.problem
    steps = "#" in (problem.solution or "")
    return episode.finish == "stop" and formed(episode.text, problem.wording, steps=steps, opened=opened) is not None


class WellFormed(Rewarding):
    """Rewards the strict format alone: a thought and an answer, each marked once (`assay/verifiers/formats.py`).

    reward=(Outcome(), WellFormed(right=0.1))
    --mechanism.reward outcome,well-formed --mechanism.reward.1.right 0.1
    """

    right: float = 1.0  # the reward of a response in exactly this format
    wrong: float = 0.0  # of any other, and of one that was cut
    opened: bool = False  # the chat template ends the prompt with <think>
    does = well_formed
    needs = ("texts",)
