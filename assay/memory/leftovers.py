"""Groups of which rows were left over, whole, so that an advantage is what it was in its own group."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.part import Part
from assay.types import Episode, Row

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "left-over"


@dataclass(frozen=True)
class KeepLeftovers(Part):
    """Rows tagged `left-over` are kept with their groups until they have trained, for at most `max_age` steps."""

    max_age: int = 8


def keep_leftovers(memory: Memory, *, rows: Sequence[Row], max_age: int) -> Memory:
    replayed = {row.group for row in rows if row.episode.provenance == "replay"}
    left: dict[str, list[str]] = {}
    for row in rows:
        if row.tag == "left-over":
            left.setdefault(row.group, []).append(row.episode.request.id)
    store = {
        group: entry
        for group, entry in memory.store(STORE).items()
        if group not in replayed and memory.step - entry["step"] < max_age
    }
    held = [episode for episode in memory.kept.get(STORE, ()) if episode.request.group in store]
    held += [_held(row.episode) for row in rows if row.group in left and row.in_group]
    store |= {group: {"step": memory.step, "rows": asked} for group, asked in left.items()}
    return memory.keep(STORE, store).hold(STORE, held)


def leftovers(memory: Memory) -> dict[str, tuple[frozenset[str], list[Episode]]]:
    """Group by group, the oldest first: the ids of the rows left over, and all episodes of its statistics."""
    found = {group: (frozenset(entry["rows"]), []) for group, entry in memory.store(STORE).items()}
    for episode in memory.kept.get(STORE, ()):
        found[episode.request.group][1].append(episode)
    return found


def returned(episode: Episode, *, trains: bool = True, batch: str = "") -> Row:
    """The row of an episode that waited, with the log-probs with which it was sampled as its denominators."""
    own = episode.stream("old")
    old = np.where(np.isnan(own), np.float32(0), own)
    return Row(episode, in_loss=trains, in_denominator=trains, batch=batch, old=old)


def _held(episode: Episode) -> Episode:
    return dataclasses.replace(episode, provenance="replay")
