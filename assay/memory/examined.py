"""The pass rate of each problem when it was examined last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.part import Remembering
from assay.types import Episode

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "examined"


def keep_examined(memory: Memory, *, episodes: Sequence[Episode], place: str = STORE) -> Memory:
    """The memory with the pass rates of the step's problems.

    Answers without a verdict, because of an error of ours, and answers with a hint do not count; a problem without
    other answers keeps its pass rate.
    """
    rights: dict[str, list[bool]] = {}
    for episode in episodes:
        if episode.verified and not episode.request.helped:
            rights.setdefault(episode.request.problem.id, []).append(episode.right)
    shares = {problem: sum(seen) / len(seen) for problem, seen in rights.items()}
    return memory.keep(place, memory.store(place) | shares)


class KeepExamined(Remembering):
    """Stores the pass rate of each problem of the step, which the source `unsolved` reads.

    remember=(KeepExamined(),)
    --mechanism.remember keep-examined
    """

    keeps = STORE
    does = keep_examined
    needs_verdict = True
