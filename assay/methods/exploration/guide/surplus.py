"""More groups than a step trains on: the surplus waits for the next step."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import alive_groups
from assay.memory import KeepLeftovers, Memory
from assay.memory.leftovers import STORE, aside, leftovers, returned
from assay.part import Curator
from assay.types import Row


def take_turns(rows: Sequence[Row], memory: Memory, *, num_prompts: int, place: str = STORE) -> list[Row]:
    """Takes waiting groups out of loss and denominator, whole and with their statistics; adds groups that waited."""
    waited = [
        [returned(episode, marks, place) for episode in members] for marks, members in leftovers(memory, place).values()
    ]
    room = max(0, num_prompts - len(waited))
    waits = {i for group in alive_groups(rows)[room:] for i in group.places}
    result = [
        aside(row, place) if i in waits and (row.in_loss or row.in_denominator) else row for i, row in enumerate(rows)
    ]
    return result + [row for members in waited[:num_prompts] for row in members]


class TakeTurns(Curator):
    """Trains on `num_prompts` groups: first the groups that waited since the last step, then the first groups of this
    step. The other groups wait.

    The part `keep-leftovers` of `remember` stores the groups that wait. With `refill` a step stops sampling when
    waiting and new groups together are enough.

        curate=(TakeTurns(),)
        --mechanism.curate take-turns
    """

    reads = (KeepLeftovers,)
    writes = ("aside", "order")
    does = take_turns

    @property
    def called(self) -> str:
        return "take-turns"
