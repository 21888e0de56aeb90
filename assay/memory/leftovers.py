"""Rows that wait for a later step. The whole group of such a row is kept, so that its advantage is later computed
within its own group.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.part import Part, Remembering, for_caller
from assay.types import Episode, Row, Wait

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "left-over"

Marks = Sequence[bool]
"""The three marks with which a row comes back: in the loss, in the group statistics, in the denominator."""


def keep_leftovers(memory: Memory, *, rows: Sequence[Row], max_age: int, place: str = STORE) -> Memory:
    """The memory with all rows of each group in which a row waits. Groups that came back in this step are removed, and
    so are groups that are `max_age` steps old.
    """
    returned = {row.group for row in rows if row.waited == place}
    waiting = {row.group for row in rows if row.wait is not None and row.wait.place == place}
    store = {
        group: entry
        for group, entry in memory.store(place).items()
        if group not in returned and memory.step - entry["step"] < max_age
    }
    held = [episode for episode in memory.kept.get(place, ()) if episode.request.group in store]
    for group in dict.fromkeys(row.group for row in rows if row.group in waiting):
        members = {row.episode.request.id: row for row in reversed(rows) if row.group == group}
        marks = {name: _marks(row, place) for name, row in reversed(members.items())}
        store[group] = {"step": memory.step, "rows": marks}
        held += [replayed(members[name].episode) for name in marks]
    return memory.keep(place, store).hold(place, held)


class KeepLeftovers(Remembering):
    """Keeps the rows that a part of `curate` set aside, with their groups, until they come back or are `max_age` old.

    It keeps the rows of one part of `curate`. If several parts set rows aside, each needs a `keep-leftovers` that names
    it in `of`.

        remember=(KeepLeftovers(max_age=8),)
        --mechanism.remember keep-leftovers --mechanism.remember.0.max_age 8
    """

    keeps = STORE

    max_age: int = 8  # in steps
    of: str = for_caller("")  # the part of `curate`: recompose or take-turns; "": the only one that the recipe has
    does = keep_leftovers

    @property
    def called(self) -> str:
        return f"{STORE}/{self.of}" if self.of else ""

    def keeps_for(self, reader: Part) -> bool:
        return self.of in ("", reader.called)


def leftovers(memory: Memory, place: str = STORE) -> dict[str, tuple[Mapping[str, Marks], list[Episode]]]:
    """Group -> (request id -> marks of the row, episodes of the group), the oldest group first."""
    found = {group: (_by_request(entry), []) for group, entry in memory.store(place).items()}
    for episode in memory.kept.get(place, ()):
        found[episode.request.group][1].append(episode)
    return found


def aside(row: Row, place: str) -> Row:
    """The row, out of the loss and the denominator of this step. In a later step it returns with its present marks."""
    return row.mark(
        in_loss=False, in_denominator=False, wait=Wait(place, in_loss=row.in_loss, in_denominator=row.in_denominator)
    )


def returned(episode: Episode, marks: Mapping[str, Marks], place: str, *, batch: str = "") -> Row:
    """The row of an episode that waited. `old`, the ratio's denominator, is the log-prob with which it was sampled."""
    own = episode.stream("old")
    old = np.where(np.isnan(own), np.float32(0), own)
    in_loss, in_group, counted = marks.get(episode.request.id, (False, True, False))
    return Row(episode, in_loss, in_group, in_denominator=counted, batch=batch, old=old, waited=place)


def _marks(row: Row, place: str) -> list[bool]:
    """The marks to keep for a row. A row that does not wait itself only counts in the statistics of its group."""
    if row.wait is None or row.wait.place != place:
        return [False, row.in_group, False]
    return [row.wait.in_loss, row.in_group, row.wait.in_denominator]


def _by_request(entry: Mapping[str, Any]) -> Mapping[str, Marks]:
    """Request id -> marks. Checkpoints of earlier versions only list the rows, all of which train."""
    rows = entry["rows"]
    return rows if isinstance(rows, Mapping) else dict.fromkeys(rows, (True, True, True))


def replayed(episode: Episode) -> Episode:
    """The episode as it is kept: a fresh one becomes a replayed one, a teacher's stays a teacher's."""
    return dataclasses.replace(episode, provenance="replay") if episode.provenance == "fresh" else episode
