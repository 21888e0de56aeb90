"""The weight of the entropy bonus, which adapts to keep the entropy near a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.part import Remembering
from assay.types import Row

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "entropy"


def adapt_entropy(
    memory: Memory, *, rows: Sequence[Row], target: float, step: float, most: float, place: str = STORE
) -> Memory:
    """The memory with the new weight; a step whose entropy is not known changes nothing."""
    store, seen = memory.store(place), entropy_of(rows)
    before = store.get("weight", 0.0)
    after = before if seen is None else before + (step if seen <= target else -step)
    return memory.keep(place, {"weight": min(most, max(0.0, round(after, 9))), "target": target})


class AdaptEntropy(Remembering):
    """c <- c + step if the entropy of the step is at or below the target, else c - step; c starts at 0 and stays in
    [0, most].

    The part `entropy-weight` applies c (Skywork-OR1 2505.22312).

        remember=(AdaptEntropy(target=0.2),)
        --mechanism.remember adapt-entropy --mechanism.remember.0.target 0.2
    """

    keeps = STORE

    target: float = 0.2
    step: float = 0.005
    most: float = 1.0
    does = adapt_entropy


def entropy_of(rows: Sequence[Row]) -> float | None:
    """The mean entropy of the policy at the tokens that it sampled."""
    streams = [row.episode.stream("entropy") for row in rows if row.in_loss or row.in_denominator]
    known = [stream[np.isfinite(stream)] for stream in streams]
    values = np.concatenate(known) if known else np.zeros(0)
    return float(values.mean(dtype=np.float64)) if len(values) else None
