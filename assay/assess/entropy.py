"""What the entropy bonus weighs in this step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.memory import Memory
from assay.memory.entropy import STORE, entropy_of
from assay.part import Part
from assay.types import Row, Stats


@dataclass(frozen=True)
class EntropyWeight(Part):
    """Every token weighs the entropy term by what `adapt-entropy` keeps, unless the entropy is above its target."""


def entropy_weight(rows: Sequence[Row], *, memory: Memory) -> tuple[list[Row], Stats]:
    """c 1[H <= target], beside the weight that the term has itself."""
    kept, seen = memory.stores.get(STORE, {}), entropy_of(rows)
    low = seen is not None and seen <= kept.get("target", 0.0)
    weight = kept.get("weight", 0.0) if low else 0.0
    marked = [
        row.mark(weights={**row.weights, "entropy": np.full(len(row.episode), weight, np.float32)}) for row in rows
    ]
    return marked, {"policy/entropy_weight": weight}
