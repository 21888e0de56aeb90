"""Turns of an answer, which the replies of an environment divide, and rewards that belong to one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.part import Rewarding
from assay.reward import Outcome
from assay.reward.composed import Child, spread
from assay.types import Episode, Origin, Reward, RewardScope


def turns_of(origin: np.ndarray) -> np.ndarray:
    """int[T]: the turn of each token, from 0. A reply of the environment belongs to the turn that it answers."""
    reply = origin == Origin.ENV
    begins = np.flatnonzero(reply[:-1] & ~reply[1:]) + 1  # the first token after a reply
    turn = np.zeros(len(origin), np.int64)
    turn[begins] = 1
    return np.cumsum(turn)


def in_turn(episodes: Sequence[Episode], *, of: Child, turn: int) -> list[Reward | None]:
    """r at the last token of the turn; None for an answer that did not come to this turn."""
    return [_placed(episode, found, turn) for episode, found in zip(episodes, of(episodes), strict=True)]


def _placed(episode: Episode, found: Reward | None, turn: int) -> Reward | None:
    if found is None or found.invalid or found.unread:
        return found
    turns = turns_of(episode.stream("origin"))
    if not len(turns) or turn > turns[-1]:
        return None
    at = np.flatnonzero(turns == turn)[-1:].astype(np.int32)
    where = Reward(found.name, found.value, "turn", np.array([found.value]), at)
    return spread(f"turn-{turn}", [found.value], where, (found,))


class InTurn(Rewarding):
    """A reward that one turn of the answer earns (Hi-GRPO 2512.10949). The reward of the last turn needs no such part:
    it is the reward of the answer.

    Credit that knows turns gives it to this turn; other credit adds it up.
    """

    of: Rewarding = Outcome()  # a reward of the whole answer
    turn: int = 0  # the number of the turn, from 0
    does = in_turn

    @property
    def gives(self) -> RewardScope:
        return "turn"

    def refusal(self, **_: Any) -> str | None:
        if self.of.gives != "episode":
            return f"in-turn: {type(self.of).__name__} has values within the answer. Take a reward of the whole answer."
        return None
