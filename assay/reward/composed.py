"""How rewards become one reward, whatever the combinator.

Five rules hold for each combinator. A child with an error of ours (`invalid`) makes the whole invalid: it is never a
zero. A child that has nothing to say (None) leaves the whole without a value; only a sum goes on without it. So does a
child without a judgement (`unread`), and the whole then says that it has none. A value that is no finite number is an
error of ours. The children stay apart: the whole has them as its `parts`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from assay.part import Rewarding
from assay.types import Episode, Reward, RewardScope

NOT_FINITE = "not_finite"
"""The kind of error of a reward that is no finite number."""


class Child(Protocol):
    """A reward within a reward, as a function of the episodes. It gets its other arguments by itself."""

    def __call__(self, episodes: Sequence[Episode]) -> list[Reward | None]: ...


def combined(name: str, children: Sequence[Reward | None], rule: Callable[..., float]) -> Reward | None:
    """The reward rule(values of the children). If some of them have a value for each turn, span or token, the rule is
    applied at each of these, with the numbers of the others.

        combined("product", [Reward("a", 0.5), Reward("b", 4.0)], operator.mul).value  # 2.0
    """
    present = tuple(child for child in children if child is not None)
    if len(present) < len(children):
        return None
    if wrong := [child.invalid for child in present if child.invalid]:
        return Reward.unknown(name, wrong[0], present)
    if any(child.unread for child in present):
        return Reward.no_judgement(name, present)
    dense = [child for child in present if child.values is not None]
    if not dense:
        return whole(name, rule(*(child.value for child in present)), present)
    first = dense[0]
    if any(child.scope != first.scope or not _alike(child.at, first.at) for child in dense):
        listed = ", ".join(f"{child.name} ({child.scope})" for child in dense)
        raise ValueError(f"{name}: {listed} have values at different places of one answer; let them stand apart")
    assert first.values is not None
    columns = [np.full(len(first.values), c.value) if c.values is None else c.values for c in present]
    return spread(name, [rule(*values) for values in zip(*columns, strict=True)], first, present)


def whole(name: str, value: float, parts: tuple[Reward, ...] = ()) -> Reward:
    """A reward of a whole answer."""
    value = float(value)
    return Reward(name, value, parts=parts) if math.isfinite(value) else Reward.unknown(name, NOT_FINITE, parts)


def spread(name: str, values: Sequence[float], like: Reward, parts: tuple[Reward, ...] = ()) -> Reward:
    """A reward with these values at the turns, spans or tokens at which `like` has its own."""
    found = np.array(values, dtype=np.float64)
    if not np.isfinite(found).all():
        return Reward.unknown(name, NOT_FINITE, parts)
    return Reward(name, float(found.sum()), like.scope, found, like.at, parts=parts)


def scope_of(children: Sequence[Rewarding]) -> RewardScope:
    """The scope of a reward that is made of these: turns, spans or tokens if one of them has values there, else the
    answer.
    """
    found: list[RewardScope] = [child.gives for child in children if child.gives != "episode"]
    return found[0] if found else "episode"


def _alike(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return other is None if one is None else other is not None and np.array_equal(one, other)
