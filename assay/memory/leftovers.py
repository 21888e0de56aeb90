"""Groups of which rows were set aside, whole, so that an advantage is what it was in its own group."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.part import Part, Remembering, for_caller
from assay.types import Episode, Row, Wait

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "left-over"

Marks = Sequence[bool]
"""Whether a row is in the loss, in the statistics of its group and in the denominator when it comes back."""


def keep_leftovers(memory: Memory, *, rows: Sequence[Row], max_age: int, place: str = STORE) -> Memory:
    """Of a group in which a row waits all rows are kept; a group that came back in this step is not kept for longer."""
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
        held += [_held(members[name].episode) for name in marks]
    return memory.keep(place, store).hold(place, held)


@dataclass(frozen=True)
class KeepLeftovers(Remembering):
    """Rows that a part of `curate` set aside are kept with their groups until they come back, at most `max_age` steps.

    One part's rows: where several set rows aside, each has a keeper of its own, which names it in `of`.
    """

    keeps = STORE

    max_age: int = 8
    of: str = for_caller("")  # recompose or take-turns; "": whichever of them the recipe has
    does = keep_leftovers

    @property
    def called(self) -> str:
        return f"{STORE}/{self.of}" if self.of else ""

    def keeps_for(self, reader: Part) -> bool:
        return self.of in ("", reader.called)


def leftovers(memory: Memory, place: str = STORE) -> dict[str, tuple[Mapping[str, Marks], list[Episode]]]:
    """Group by group, the oldest first: the marks of its rows by the ids of their requests, and its episodes."""
    found = {group: (_by_request(entry), []) for group, entry in memory.store(place).items()}
    for episode in memory.kept.get(place, ()):
        found[episode.request.group][1].append(episode)
    return found


def aside(row: Row, place: str) -> Row:
    """The row out of the loss and the denominator, to come back as it is now."""
    return row.mark(
        in_loss=False, in_denominator=False, wait=Wait(place, in_loss=row.in_loss, in_denominator=row.in_denominator)
    )


def returned(episode: Episode, marks: Mapping[str, Marks], place: str, *, batch: str = "") -> Row:
    """The row of an episode that waited, with the log-probs with which it was sampled as its denominators."""
    own = episode.stream("old")
    old = np.where(np.isnan(own), np.float32(0), own)
    in_loss, in_group, counted = marks.get(episode.request.id, (False, True, False))
    return Row(episode, in_loss, in_group, in_denominator=counted, batch=batch, old=old, waited=place)


def _marks(row: Row, place: str) -> list[bool]:
    """Of a row that does not wait here its group alone makes use."""
    if row.wait is None or row.wait.place != place:
        return [False, row.in_group, False]
    return [row.wait.in_loss, row.in_group, row.wait.in_denominator]


def _by_request(entry: Mapping[str, Any]) -> Mapping[str, Marks]:
    """Checkpoints of earlier versions list the rows that train, and keep no others than a group's statistics need."""
    rows = entry["rows"]
    return rows if isinstance(rows, Mapping) else dict.fromkeys(rows, (True, True, True))


def _held(episode: Episode) -> Episode:
    """A teacher's answer stays a teacher's."""
    return dataclasses.replace(episode, provenance="replay") if episode.provenance == "fresh" else episode
