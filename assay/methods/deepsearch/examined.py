"""How often each problem was answered rightly when it was examined last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.part import Remembering
from assay.types import Episode

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "examined"


def keep_examined(memory: Memory, *, episodes: Sequence[Episode], place: str = STORE) -> Memory:
    """Answers that an error of ours left without a verdict do not count, nor do those that were helped; a problem with
    no others keeps its share.
    """
    rights: dict[str, list[bool]] = {}
    for episode in episodes:
        if episode.verdict is not None and episode.verdict.status != "invalid" and not episode.request.helped:
            rights.setdefault(episode.request.problem.id, []).append(episode.right)
    shares = {problem: sum(seen) / len(seen) for problem, seen in rights.items()}
    return memory.keep(place, memory.store(place) | shares)


@dataclass(frozen=True)
class KeepExamined(Remembering):
    """Note of each problem of the step the share of its answers that was right, for `unsolved`."""

    keeps = STORE
    does = keep_examined
