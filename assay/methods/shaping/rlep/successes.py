"""A replay buffer of right answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.memory.episodes import bare
from assay.part import Remembering
from assay.types import Episode, Row

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "successes"


def keep_successes(memory: Memory, *, rows: Sequence[Row], most: int, place: str = STORE) -> Memory:
    """The memory with the new right answers, the newest first: fresh ones that were not cut and had no hint."""
    held: dict[str, dict[bytes, Episode]] = {}
    right = [row.episode for row in rows if row.right and row.episode.provenance == "fresh"]
    fresh = [bare(e) for e in reversed(right) if not e.request.helped and len(e)]
    for episode in (*fresh, *memory.kept.get(place, ())):
        answers = held.setdefault(episode.request.problem.id, {})
        if len(answers) < most:
            answers.setdefault(episode.stream("ids").tobytes(), episode)
    return memory.hold(place, [episode for answers in held.values() for episode in answers.values()])


class KeepSuccesses(Remembering):
    """Stores the last `most` different right answers to each problem (RLEP 2507.07451).

    remember=(KeepSuccesses(most=4),)
    --stages.0.mechanism.remember keep-successes --stages.0.mechanism.remember.0.most 4
    """

    keeps = STORE

    most: int = 4
    does = keep_successes
    needs_verdict = True
