"""Problems from a window of levels that moves up: every share of the pool has a highest open level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.methods.exploration.rlve.levels import STORE, Promote, standing
from assay.part import Count, Source
from assay.source.rows import draw
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool, Share


def level_window(
    memory: Memory, first: int, count: int, *, pool: Pool, width: int, place: str = STORE
) -> list[Problem]:
    """A level uniform on {max(0, h - width + 1), ..., h}, where h is the share's highest open level."""

    def window(share: Share) -> Sequence[int]:
        """The levels of a share from which problems are drawn."""
        highest = standing(memory, share, place).highest
        return sorted(share.levels)[max(0, highest - width + 1) : highest + 1]

    return draw(memory, first, count, pool=pool, levels=window)


class LevelWindow(Source):
    """Draws from the `width` highest open levels of each share; at the start only the easiest is open (RLVE
    2511.07317).

        source=LevelWindow(width=4)
        --mechanism.source level-window --mechanism.source.width 4
    """

    reads = (Promote,)

    width: Count = 4
    does = level_window
