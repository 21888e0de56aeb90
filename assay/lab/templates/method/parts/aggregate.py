"""How the loss averages over tokens and rows."""

from __future__ import annotations

import numpy as np

from assay.part import Aggregate
from assay.types import Batch


def by_root(batch: Batch) -> np.ndarray:
    """1 / (B sqrt T_i): row i has T_i tokens that train, and B rows are counted."""
    rows = max(1, np.count_nonzero(batch.counted_rows))
    length = np.array([np.count_nonzero(part) for part in np.split(batch.mask, batch.at[1:-1])])
    return np.repeat(1.0 / (rows * np.sqrt(np.maximum(1, length))), batch.lengths)


class MyMethod(Aggregate):
    """Fill in: what each token weighs (and the arXiv id). Here less in a long answer, by the root of its length."""

    does = by_root
