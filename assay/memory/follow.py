"""Parameter sets that follow others from afar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.models import Models
from assay.part import Part

if TYPE_CHECKING:
    from assay.memory import Memory


@dataclass(frozen=True)
class Follow(Part):
    """Every so many steps all followers take over the weights of those they follow: a lag of 0 to every - 1 steps."""

    every: int = 5


def follow(memory: Memory, *, models: Models, every: int) -> Memory:
    """At the end of step s (from 0) if s + 1 is a multiple of `every`."""
    if (memory.step + 1) % every == 0:
        for name, leader in models.follows.items():
            state = models[leader].state()
            models[name].load({k: v for k, v in state.items() if not k.startswith("optimiser/")})
    return memory
