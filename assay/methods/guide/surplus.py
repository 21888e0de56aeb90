"""More groups than a step trains on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.curate.parts import alive_groups
from assay.memory import KeepLeftovers, Memory
from assay.memory.leftovers import STORE, aside, leftovers, returned
from assay.part import Curator
from assay.types import Row


def take_turns(rows: Sequence[Row], memory: Memory, *, num_prompts: int, place: str = STORE) -> list[Row]:
    """A group that waits is out of the loss and of the denominator, whole and with its statistics."""
    waited = [
        [returned(episode, marks, place) for episode in members] for marks, members in leftovers(memory, place).values()
    ]
    room = max(0, num_prompts - len(waited))
    waits = {i for members in alive_groups(rows)[room:] for i in members}
    result = [
        aside(row, place) if i in waits and (row.in_loss or row.in_denominator) else row for i, row in enumerate(rows)
    ]
    return result + [row for members in waited[:num_prompts] for row in members]


@dataclass(frozen=True)
class TakeTurns(Curator):
    """Keep `num_prompts` groups: those that waited since the step before, then the first of this one; the rest waits.

    `remember` keep-leftovers keeps what waits. With `refill` a step stops drawing when there are enough of both.
    """

    reads = (KeepLeftovers,)
    sets_aside = True
    returns_first = True
    does = take_turns

    @property
    def called(self) -> str:
        return "take-turns"
