"""More groups than a step trains on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.grouping import groups
from assay.memory import Memory
from assay.memory.leftovers import leftovers, returned
from assay.part import Part
from assay.types import Row


@dataclass(frozen=True)
class TakeTurns(Part):
    """Keep `num_prompts` groups: those that waited since the step before, then the first of this one; the rest waits.

    What waits is tagged `left-over` for the memory. With `refill` a step stops drawing when there are enough of both.
    """


def take_turns(rows: Sequence[Row], memory: Memory, *, num_prompts: int) -> list[Row]:
    """A group that waits is out of the loss and of the denominator, whole and with its statistics."""
    waited = [
        [returned(e, trains=e.request.id in asked) for e in members] for asked, members in leftovers(memory).values()
    ]
    fresh = [members for members in groups(rows).values() if any(rows[i].in_loss for i in members)]
    room = max(0, num_prompts - len(waited))
    waits = {i for members in fresh[room:] for i in members if rows[i].in_loss}
    result = [
        row.mark(in_loss=False, in_denominator=False, tag="left-over") if i in waits else row
        for i, row in enumerate(rows)
    ]
    return result + [row for members in waited[:num_prompts] for row in members]
