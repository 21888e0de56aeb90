"""The source of the second stage: a set of problems, and the variants that were accepted of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.methods.exploration.synthrl.evolve import STORE, KeepEvolved
from assay.part import Condition, Count, Source, scales_with
from assay.rng import Key
from assay.source.epochs import in_epochs, set_of
from assay.stages import Seen
from assay.tasks.harder import variant_of
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool


def with_evolved(
    memory: Memory, first: int, count: int, *, pool: Pool, drawn: int, size: int, place: str = STORE
) -> list[Problem]:
    """The problems of the set and the best variant of each that has one, together in epochs."""
    problems, known = set_of(pool, memory.seed, size), memory.store(place)
    variants = [variant_of(seed, known[seed.id]["text"]) for seed in problems if "text" in known.get(seed.id, ())]
    key = Key(memory.seed)("with-evolved", memory.stage)
    return in_epochs([*problems, *variants], key, memory.step * drawn + first, count)


class WithEvolved(Source):
    """Draws the problems of a fixed set and the variants of them that `evolve` found, in epochs (SynthRL 2506.02096).

    The set of `size` problems is the one from which `epochs` draws.
    """

    reads = (KeepEvolved,)

    size: Count = scales_with("num_prompts", 8192, at=512)  # problems of the set, without variants
    does = with_evolved


def evolved_all(seen: Seen, *, memory: Memory, pool: Pool, size: int, place: str = STORE) -> bool:
    """Whether `size` problems were measured, or all where the pool has fewer."""
    return len(memory.store(place)) >= (min(size, len(pool.rows("train"))) if pool.finite else size)


class EvolvedAll(Condition):
    """The stage begins when all `size` problems of the set were measured, and had their attempts.

    Stage("train", when=EvolvedAll(size=8192))
    --stages.1.when evolved-all --stages.1.when.size 8192
    """

    reads = (KeepEvolved,)

    size: Count = scales_with("num_prompts", 8192, at=512)
    does = evolved_all
