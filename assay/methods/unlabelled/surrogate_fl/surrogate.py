"""A reward of form and length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.part import Rewarding
from assay.reward.formed import has_form
from assay.reward.parts import MALFORMED
from assay.types import Episode, Reward


def bump(x: float, *, turn: float) -> float:
    """R_L = 1 - (1 - x / p)^2 for x <= p, and 1 - 2 ((x - p) / (1 - p))^2 above, for a length x of the limit
    (2505.19439).
    """
    return 1 - (1 - x / turn) ** 2 if x <= turn else 1 - 2 * ((x - turn) / (1 - turn)) ** 2


def surrogate(episodes: Sequence[Episode], *, max_new: int, turn: float, length: bool) -> list[Reward | None]:
    """(S + F) / 2 + R_L where the answer can be read, else min(0, R_L); without the length (S + F) / 2."""
    result: list[Reward | None] = []
    for episode in episodes:
        read = episode.finish == "stop" and episode.verdict is not None and episode.verdict.kind not in MALFORMED
        form = (has_form(episode, opened=False) + read) / 2
        long = bump(min(1.0, len(episode) / max_new), turn=turn)
        value = form if not length else form + long if read else min(0.0, long)
        result.append(Reward("surrogate", value))
    return result


class Surrogate(Rewarding):
    """Form, and a length that is best at a share of the limit (2505.19439). Whether the answer is right is nothing.

    reward=(Surrogate(turn=0.5),)
    --mechanism.reward surrogate --mechanism.reward.0.turn 0.5
    """

    turn: float = 0.5  # p: the share of the limit at which the reward of the length turns
    length: bool = True  # whether the length counts; without it the form alone does
    does = surrogate
    needs_verdict = True
    outcome = True

    def refusal(self, **_: Any) -> str | None:
        return None if 0 < self.turn < 1 else f"surrogate: turn lies between 0 and 1, not at {self.turn:g}."
