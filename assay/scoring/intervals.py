"""Bootstrap intervals for a mean over problems. Whole problems are resampled, each with all of its samples.

Two checkpoints are compared by the mean of their paired differences on the same problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from assay.errors import DataError
from assay.rng import Key

SMALL = 200  # with fewer problems the intervals are bias-corrected and accelerated (BCa)
DRAWS = 10_000  # resampled sets of problems
LEVEL = 0.95
_CHUNK = 2_000_000  # resampled indices held at once

_normal = NormalDist()


@dataclass(frozen=True)
class Interval:
    """The mean over the problems asked, and bounds for the mean over all such problems.

    The bounds are NaN for a single problem. `0.5 in Interval(0.47, 0.41, 0.53)` is True.
    """

    mean: float
    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def interval(
    values: np.ndarray, key: Key, *, level: float = LEVEL, draws: int = DRAWS, bounds: tuple[float, float] = (0.0, 1.0)
) -> Interval:
    """The interval for the mean of float[M] values, one for each problem, that lie within `bounds`."""
    return intervals(np.asarray(values, dtype=np.float64)[:, None], key, level=level, draws=draws, bounds=bounds)[0]


def paired(before: np.ndarray, after: np.ndarray, key: Key, *, level: float = LEVEL, draws: int = DRAWS) -> Interval:
    """The interval for the mean of `after` - `before`, two metrics in [0, 1] on the same M problems."""
    before, after = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if before.shape != after.shape:
        raise DataError(f"a paired difference needs the same problems twice, not {before.shape} and {after.shape}.")
    return interval(after - before, key, level=level, draws=draws, bounds=(-1.0, 1.0))


def intervals(
    values: np.ndarray, key: Key, *, level: float = LEVEL, draws: int = DRAWS, bounds: tuple[float, float] = (0.0, 1.0)
) -> list[Interval]:
    """One interval for each column of float[M, K]; all columns use the same resampled problems."""
    M = len(values)
    if M == 0:
        raise DataError("an interval over problems needs problems; the set is empty.")
    means = values.mean(axis=0)
    if M == 1:
        return [Interval(float(mean), float("nan"), float("nan")) for mean in means]
    resampled = _resampled_means(values, key, draws)
    limits = []
    for column, mean, sample in zip(values.T, means, resampled.T):
        if np.ptp(column) <= 1e-12:
            limits.append(_constant(float(mean), M, level, bounds))
            continue
        tails = ((1 - level) / 2, (1 + level) / 2)
        low, high = np.quantile(sample, _bca_tails(column, sample, tails) if M < SMALL else tails)
        limits.append(Interval(float(mean), float(low), float(high)))
    return limits


def _resampled_means(values: np.ndarray, key: Key, draws: int) -> np.ndarray:
    """float[draws, K]: means over M problems drawn with replacement."""
    M = len(values)
    generator = key("bootstrap", M, draws).generator()
    parts = []
    for start in range(0, draws, max(1, _CHUNK // M)):
        rows = min(draws - start, max(1, _CHUNK // M))
        picked = generator.integers(0, M, size=(rows, M), dtype=np.int32)
        picked += (np.arange(rows, dtype=np.int32) * M)[:, None]
        times = np.bincount(picked.ravel(), minlength=rows * M).reshape(rows, M)
        parts.append(times @ values / M)
    return np.concatenate(parts)


def _bca_tails(column: np.ndarray, sample: np.ndarray, tails: tuple[float, float]) -> list[float]:
    """The BCa quantiles of the resampled means: Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z0 median bias, a acceleration.

    For a mean, a = sum d^3 / (6 (sum d^2)^1.5) with d the deviations.
    """
    mean = column.mean()
    # Resampled means are summed in another order, so that equal means differ by rounding; these count one half.
    slack = 1e-12 * max(1.0, abs(mean))
    below = (sample < mean - slack).mean() + 0.5 * (np.abs(sample - mean) <= slack).mean()
    z0 = _normal.inv_cdf(min(max(below, 0.5 / len(sample)), 1 - 0.5 / len(sample)))
    deviations = column - mean
    a = (deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5)
    shifted = (z0 + _normal.inv_cdf(tail) for tail in tails)
    return [_normal.cdf(z0 + z / (1 - a * z)) for z in shifted]


def _constant(value: float, M: int, level: float, bounds: tuple[float, float]) -> Interval:
    """The interval for M equal values, where the bootstrap would give no width.

    If more than a share q = 1 - (1 - level)^(1/M) of all problems had other values, at least one of M would have shown
    it with probability `level`.
    """
    q = 1 - (1 - level) ** (1 / M)
    return Interval(value, value - q * (value - bounds[0]), value + q * (bounds[1] - value))
