"""A buffer of rows with a tag, to be imitated in a later step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.memory.episodes import bare
from assay.part import Remembering
from assay.types import Row

if TYPE_CHECKING:
    from assay.memory import Memory


def hold_tagged(memory: Memory, *, rows: Sequence[Row], tag: str, place: str) -> Memory:
    """The memory with the rows of this step that have the tag, else whose request has it, added to those that it
    holds.
    """
    found = [bare(row.episode) for row in rows if (row.tag or row.episode.request.tag) == tag]
    return memory.hold(place, [*memory.kept.get(place, ()), *found])


class HoldTagged(Remembering):
    """Holds the answers of all rows with this tag, until a stage clears the memory. `rehearse` reads them by the tag.

    remember=(HoldTagged(tag="helpful"),)
    --mechanism.remember hold-tagged --mechanism.remember.0.tag helpful
    """

    keeps = "tagged"

    tag: str = "helpful"  # also the name of the store
    does = hold_tagged

    @property
    def called(self) -> str:
        return self.tag
