"""Which problems a step works on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.part import Source
from assay.types import Problem

if TYPE_CHECKING:
    from assay.memory import Memory
    from assay.source import Pool


def drawn(memory: Memory, first: int, count: int, *, pool: Pool) -> Sequence[Problem]:
    """Problem `ordinal` of step t is the one that the pool has at the key (t, ordinal)."""
    step = memory.key("my-method", memory.step)
    return [pool.problem(step(ordinal)) for ordinal in range(first, first + count)]


class MyMethod(Source):
    """Fill in: which problems the method prefers (and the arXiv id). Here each is drawn by its ordinal alone."""

    does = drawn
