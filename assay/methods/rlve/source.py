"""Levels that climb: every share of the pool has a highest level that is open; problems come from it and below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.methods.rlve.levels import STORE, Promote, standing
from assay.part import Source
from assay.source.rows import draw
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool, Share


def level_window(
    memory: Memory, first: int, count: int, *, pool: Pool, width: int, place: str = STORE
) -> list[Problem]:
    """Uniform on {max(0, h - width + 1), ..., h}, h the share's highest open level counted from its easiest."""

    def window(share: Share) -> Sequence[int]:
        highest = standing(memory, share, place).highest
        return sorted(share.levels)[max(0, highest - width + 1) : highest + 1]

    return draw(memory, first, count, pool=pool, levels=window)


@dataclass(frozen=True)
class LevelWindow(Source):
    """Of each share the `width` highest levels that are open; the easiest alone at the start (RLVE 2511.07317).

        source=LevelWindow(width=4)
        --mechanism.source level-window --mechanism.source.width 4
    """

    reads = (Promote,)

    width: int = 4
    does = level_window
