"""The problems that stood, for steps in which others do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.memory.posed import posed
from assay.part import Count, Remembering
from assay.types import Episode

if TYPE_CHECKING:
    from assay.memory import Memory

VALID = "valid"


def keep_valid(memory: Memory, *, episodes: Sequence[Episode], cleared: int) -> Memory:
    """The memory with the posed problems of this step that were answered, each once."""
    store = {} if memory.step % cleared == 0 else memory.store(VALID)
    answered = {e.request.parent for e in episodes if not e.request.tag}
    for episode in episodes:
        problem = posed(episode) if episode.request.id in answered else None
        if problem is not None and problem.id not in {entry["id"] for entry in store.get(problem.task, ())}:
            entry = {"spec": problem.spec, "id": problem.id, "step": memory.step}
            store[problem.task] = [*store.get(problem.task, []), entry]
    return memory.keep(VALID, store)


class KeepValid(Remembering):
    """Keeps posed problems that stood and were answered; after every `cleared` steps they are forgotten, because the
    policy has moved on (SSP 2510.18821).

        remember=(KeepValid(cleared=10),)
        --mechanism.remember keep-valid --mechanism.remember.0.cleared 10
    """

    keeps = VALID

    cleared: Count = 10
    does = keep_valid
    needs = ("texts",)
