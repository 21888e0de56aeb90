"""Parameter sets that follow others from afar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.models import Models
from assay.part import Remembering

if TYPE_CHECKING:
    from assay.memory import Memory


def follow(memory: Memory, *, models: Models, every: int, rate: float, names: tuple[str, ...]) -> Memory:
    """w <- rate w_leader + (1 - rate) w, at the end of step s (from 0) if s + 1 is a multiple of `every`."""
    moved = [name for name in models.follows if not names or name in names] if (memory.step + 1) % every == 0 else []
    for name in sorted(moved, key=lambda name: len(models.leaders(name)), reverse=True):  # the last of a chain first
        state = models[models.follows[name]].state()
        weights = {key: value for key, value in state.items() if not key.startswith("optimiser/")}
        if rate != 1:  # a mixture is no version of the policy
            own = models[name].state()
            weights = {key: own[key] + rate * (new - own[key]) for key, new in weights.items() if key != "version"}
            weights["version"] = own["version"]
        models[name].load(weights)
    return memory


@dataclass(frozen=True)
class Follow(Remembering):
    """Every so many steps followers take over the weights of those they follow, or move a share of the way.

    With one follower that takes over, the lag is 0 to every - 1 steps. A follower of a follower gets what that one was
    before: a chain of k + 1 that moves at every step ends exactly k steps behind.
    """

    every: int = 5
    rate: float = 1.0
    names: tuple[str, ...] = ()  # the followers that move so; (): all
    does = follow
