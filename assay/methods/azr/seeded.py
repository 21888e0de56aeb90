"""The stage of self-play begins when there are enough problems to begin with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.methods.azr.memory import STORE, AdmitPosed, short_of
from assay.part import Condition, scales_with
from assay.stages import Seen

if TYPE_CHECKING:
    from assay.source import Pool


def seeded(seen: Seen, *, memory: Memory, pool: Pool, size: int, place: str = STORE) -> bool:
    return not short_of(memory, [share.task for share in pool.shares], size, place)


@dataclass(frozen=True)
class Seeded(Condition):
    """It begins when so many problems of each task of the pool were posed."""

    reads = (AdmitPosed,)

    size: int = scales_with("num_prompts", 256, at=192)  # problems of each task that must have been posed
    does = seeded
