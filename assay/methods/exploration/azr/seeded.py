"""The stage of self-play begins when every pool holds enough problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.memory.posed import STORE, AdmitPosed
from assay.part import Condition, Count, scales_with
from assay.stages import Seen

if TYPE_CHECKING:
    from assay.source import Pool


def short_of(memory: Memory, names: Sequence[str], size: int, place: str = STORE) -> list[str]:
    """The tasks of which fewer than `size` problems were posed; the seed instance does not count, since nobody posed
    it.
    """
    store = memory.store(place)
    return [name for name in names if len(store.get(name, ())) < size]


def seeded(seen: Seen, *, memory: Memory, pool: Pool, size: int, place: str = STORE) -> bool:
    """Whether every task of the pool has `size` posed problems."""
    return not short_of(memory, [share.task for share in pool.shares], size, place)


class Seeded(Condition):
    """The stage begins when `size` problems of each task of the pool were posed.

    Stage("self-play", when=Seeded(size=256))
    --stages.1.when seeded --stages.1.when.size 256
    """

    reads = (AdmitPosed,)

    size: Count = scales_with("num_prompts", 256, at=192)  # problems of each task that must have been posed
    does = seeded
