"""The weight of the entropy bonus in this step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.memory import Memory
from assay.methods.regularisers.entropy_target.adapt import STORE, AdaptEntropy, entropy_of
from assay.part import Forward
from assay.types import Row, Stats


def entropy_weight(rows: Sequence[Row], *, memory: Memory, place: str = STORE) -> tuple[list[Row], Stats]:
    """c 1[H <= target] for each token, by which the weight of the entropy term itself is multiplied."""
    kept, seen = memory.store(place), entropy_of(rows)
    low = seen is not None and seen <= kept.get("target", 0.0)
    weight = kept.get("weight", 0.0) if low else 0.0
    known = [{"entropy": np.full(len(row.episode), weight, np.float32)} for row in rows]
    marked = [row.mark(term_weights={**row.term_weights, **own}) for row, own in zip(rows, known, strict=True)]
    return marked, {"policy/entropy_weight": weight}


class EntropyWeight(Forward):
    """Multiplies the entropy bonus by the weight that `adapt-entropy` stores, or by 0 while the entropy is above the
    target.

        forwards=(EntropyWeight(),)
        --mechanism.forwards entropy-weight
    """

    reads = (AdaptEntropy,)
    does = entropy_weight
