"""Models that follow others: lagging copies and moving averages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.models import Models
from assay.part import Count, Proportion, Remembering

if TYPE_CHECKING:
    from assay.memory import Memory


def follow(memory: Memory, *, models: Models, every: int, rate: float, names: tuple[str, ...]) -> Memory:
    """w <- rate w_leader + (1 - rate) w, at the end of step s (from 0) if s + 1 is a multiple of `every`."""
    moved = [name for name in models.follows if not names or name in names] if (memory.step + 1) % every == 0 else []
    for name in sorted(
        moved, key=lambda name: len(models.leaders(name)), reverse=True
    ):  # the last of a chain first, so that each gets the old weights of its leader
        models[name].take(models[models.follows[name]], rate)
    return memory


class Follow(Remembering):
    """Every `every` steps, models that follow another copy its weights, or move towards them by the share `rate`.

    With rate=1 a follower lags by 0 to every - 1 steps. A follower of a follower gets the weights that its leader had
    before this update: with every=1 the last one in a chain of k + 1 followers lags by exactly k steps.

        remember=(Follow(every=5, rate=1.0),)
        --mechanism.remember follow --mechanism.remember.0.every 5
    """

    every: Count = 5
    rate: Proportion = 1.0  # 1: copy; below 1: exponential moving average
    names: tuple[str, ...] = ()  # the models that follow; (): every model of the recipe that follows another
    does = follow
