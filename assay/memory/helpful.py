"""What was found worth imitating, held until there is enough to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.memory.solved import bare
from assay.part import Part
from assay.types import Row

if TYPE_CHECKING:
    from assay.memory import Memory


@dataclass(frozen=True)
class HoldTagged(Part):
    """Hold the texts of the rows with this tag, under its name, as long as the memory is kept."""

    tag: str = "helpful"


def hold_tagged(memory: Memory, *, rows: Sequence[Row], tag: str) -> Memory:
    return memory.hold(tag, [*memory.kept.get(tag, ()), *(bare(row.episode) for row in rows if row.tag == tag)])
