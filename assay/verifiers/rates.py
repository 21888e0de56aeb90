"""Shares of few cases, with what they leave open: intervals, and a bound where nothing was seen."""

from __future__ import annotations

import math
from statistics import NormalDist

SURE = 0.95  # the confidence of all intervals


def wilson(count: int, total: int) -> tuple[float, float]:
    """Wilson's interval for a share of `count` in `total`: `wilson(0, 100)` is about (0, 0.037)."""
    if not total:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + SURE / 2)
    middle, spread = count + z * z / 2, z * math.sqrt(count * (total - count) / total + z * z / 4)
    return max(0.0, (middle - spread) / (total + z * z)), min(1.0, (middle + spread) / (total + z * z))


def bound_of_none(total: int) -> float:
    """The largest share of a kind of case that stays unseen in `total` cases with a chance of at least 1 - `SURE`.

    It is exact, 1 - (1 - SURE)^(1 / total), and near 3 / total: `bound_of_none(300)` is about 0.00994.
    """
    return 1.0 - (1.0 - SURE) ** (1.0 / total) if total else 1.0


def certain_share(count: int, total: int) -> float:
    """The lower end of the exact interval (Clopper and Pearson) for a share of `count` in `total`.

    A share below it gives that many cases with a chance of less than (1 - `SURE`) / 2, however few the cases are:
    `certain_share(1, 6)` is about 0.0042, where Wilson's interval begins at 0.030.
    """
    if not count:
        return 0.0
    low, high = 0.0, count / total
    for _ in range(60):  # bisection: the chance of at least `count` cases rises with the share
        middle = (low + high) / 2
        fewer = sum(math.comb(total, k) * middle**k * (1 - middle) ** (total - k) for k in range(count))
        low, high = (middle, high) if 1 - fewer < (1 - SURE) / 2 else (low, middle)
    return low
