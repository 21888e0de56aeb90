"""Right answers of all rounds, to be learnt from later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.memory.solved import bare
from assay.part import Part
from assay.types import Episode

if TYPE_CHECKING:
    from assay.memory import Memory


@dataclass(frozen=True)
class Harvest(Part):
    """Hold the right answers that were written, each once, at most so many of a problem and stage."""

    most: int = 4
    name: str = "harvest"


def harvest(memory: Memory, *, episodes: Sequence[Episode], most: int, name: str) -> Memory:
    """An answer is the same if its tokens are. Those of earlier stages stay."""
    held = list(memory.kept.get(name, ()))
    known = {(e.request.problem.id, e.stream("ids").tobytes()) for e in held}
    counts: dict[str, int] = dict(memory.store(name))
    for episode in episodes:
        problem = episode.request.problem.id
        same, place = (problem, episode.stream("ids").tobytes()), f"{memory.stage}/{problem}"
        if episode.right and episode.provenance == "fresh" and same not in known and counts.get(place, 0) < most:
            held.append(bare(episode))
            known.add(same)
            counts[place] = counts.get(place, 0) + 1
    return memory.hold(name, held).keep(name, counts)
