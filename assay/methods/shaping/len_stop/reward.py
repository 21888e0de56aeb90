"""The reward of an answer, less if the limit cut it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.part import Rewarding
from assay.types import Episode, Reward


def stop_properly(episodes: Sequence[Episode], *, right: float, wrong: float, cut: float) -> list[Reward | None]:
    """The reward of each answer: by its verdict, and by `cut` if the limit cut it."""
    worth = [right if episode.right else wrong for episode in episodes]
    cuts = [episode.finish == "length" for episode in episodes]
    paid = [(cut if cut < 0 else cut * w) if is_cut else w for w, is_cut in zip(worth, cuts, strict=True)]
    return [Reward("outcome", value) for value in paid]


class StopProperly(Rewarding):
    """The reward of a right and of a wrong answer, less if the limit cut the answer (stop-properly, as in ProRL).

    reward=(StopProperly(cut=-0.5),)
    --mechanism.reward stop-properly --mechanism.reward.0.cut -0.5
    """

    right: float = 1.0
    wrong: float = 0.0
    cut: float = 0.0  # from 0 to 1: a factor on the reward; below 0: the reward itself
    does = stop_properly
    needs_verdict = True
    outcome = True

    def refusal(self, **_: Any) -> str | None:
        if self.cut <= 1:
            return None
        return f"stop-properly: cut is a factor from 0 to 1, or a reward below 0, not {self.cut:g}."
