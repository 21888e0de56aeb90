"""Nim with one heap: each player in turn takes one, two or three sticks, and who takes the last one wins.

Nothing is hidden. Who moves at a heap that is a multiple of four loses against the best play, which leaves such heaps.
"""

from __future__ import annotations

import numpy as np

from assay.worlds.matches import Mixed, Rules
from assay.worlds.play import Spec

_MOST = 3


def _left(spec: Spec, history: str) -> int:
    return spec["heap"] - sum(map(int, history))


def _deal(generator: np.random.Generator, level: int) -> Spec:
    """Heaps of up to four sticks more than the level's least."""
    return {"heap": 4 * level + int(generator.integers(4))}


def _legal(spec: Spec, history: str) -> str:
    return "".join(str(count) for count in range(1, _MOST + 1) if count <= _left(spec, history))


def _told(state: str) -> str:
    return (
        f"There is a heap of {state[1:]} sticks. You and another player in turn take 1, 2 or 3 sticks, and who takes "
        "the last one wins. It is your turn. Think, and end with [1], [2] or [3]."
    )


def best(state: str) -> Mixed:
    """The move that leaves a multiple of four; where there is none, all moves lose alike, and one is taken by
    chance.
    """
    left = int(state[1:])
    if left % (_MOST + 1):
        return {str(left % (_MOST + 1)): 1.0}
    return {str(count): 1 / _MOST for count in range(1, _MOST + 1)}


NIM = Rules(
    name="nim",
    about="Nim with one heap: take one to three sticks, the last one wins",
    levels=range(1, 6),
    deal=_deal,
    mover=lambda history: len(history) % 2,
    legal=_legal,
    payoff=lambda spec, history: 1.0 if len(history) % 2 else -1.0,
    shown=lambda spec, history: f"n{_left(spec, history)}",
    told=_told,
    best=best,
    words={"one": "1", "two": "2", "three": "3"},
    worst=2.0,
)
