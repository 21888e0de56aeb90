"""Are two means the same within a margin? Two one-sided Welch tests, so that few runs cannot pass for equal ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

MARGIN = 0.03


@dataclass(frozen=True)
class Equivalence:
    """What the tests of |mean a - mean b| < margin found."""

    means: tuple[float, float]
    counts: tuple[int, int]
    gap: float  # mean a - mean b
    error: float  # standard error of the gap
    p: float  # the larger of the two one-sided ones: below 0.05 the means are equal within the margin


def equivalence(a: Sequence[float], b: Sequence[float], *, margin: float = MARGIN) -> Equivalence | None:
    """None with less than two values on a side: there is no spread to go by."""
    sides = [np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)]
    counts = (len(sides[0]), len(sides[1]))
    if min(counts) < 2:
        return None
    means = (float(sides[0].mean()), float(sides[1].mean()))
    spread = [float(x.var(ddof=1)) / len(x) for x in sides]
    error, gap = math.sqrt(sum(spread)), means[0] - means[1]
    if error == 0:
        return Equivalence(means, counts, gap, 0.0, 0.0 if abs(gap) < margin else 1.0)
    freedom = sum(spread) ** 2 / sum(s**2 / (n - 1) for s, n in zip(spread, counts, strict=True))
    p = max(stats.t.sf((margin + gap) / error, freedom), stats.t.sf((margin - gap) / error, freedom))
    return Equivalence(means, counts, gap, error, float(p))
