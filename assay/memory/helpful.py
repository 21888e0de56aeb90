"""What was found worth imitating, held until there is enough to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.memory.episodes import bare
from assay.part import Remembering
from assay.types import Row

if TYPE_CHECKING:
    from assay.memory import Memory


def hold_tagged(memory: Memory, *, rows: Sequence[Row], tag: str, place: str) -> Memory:
    return memory.hold(place, [*memory.kept.get(place, ()), *(bare(row.episode) for row in rows if row.tag == tag)])


@dataclass(frozen=True)
class HoldTagged(Remembering):
    """Hold the texts of the rows with this tag, under its name, as long as the memory is kept."""

    keeps = "tagged"

    tag: str = "helpful"
    does = hold_tagged

    @property
    def called(self) -> str:
        return self.tag
