"""Bootstrap intervals for a mean over problems. Whole problems are resampled, each with all of its samples.

Two checkpoints are compared by the mean of their paired differences on the same problems.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from assay.errors import DataError
from assay.rng import Key

SMALL = 200  # with fewer problems the intervals are bias-corrected and accelerated (BCa)
DRAWS = 10_000  # resampled sets of problems
LEVEL = 0.95
POWER = 0.8  # the chance with which a difference is to be shown: in four of five studies
SHARES, DIFFERENCES = (0.0, 1.0), (-1.0, 1.0)  # the ranges of shares, and of differences of two
_CHUNK = 2_000_000  # resampled indices held at once

_normal = NormalDist()


@dataclass(frozen=True)
class Needed:
    """The seeds and problems that would resolve an undecided claim in four of five studies. A number that is None may
    stay as it is.

    Needed(seeds=9)
    """

    seeds: int | None = None
    problems: int | None = None

    def __str__(self) -> str:
        """`9 seeds`, `700 problems`, or both."""
        told = [f"{self.seeds} seeds"] if self.seeds is not None else []
        told += [f"{self.problems:,} problems"] if self.problems is not None else []
        return " and ".join(told)


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


def interval(
    values: np.ndarray, key: Key, *, level: float = LEVEL, draws: int = DRAWS, bounds: tuple[float, float] = SHARES
) -> Interval:
    """The interval for the mean of float[M] values, one for each problem, that lie within `bounds`."""
    return intervals(np.asarray(values, dtype=np.float64)[:, None], key, level=level, draws=draws, bounds=bounds)[0]


def paired(before: np.ndarray, after: np.ndarray, key: Key, *, level: float = LEVEL, draws: int = DRAWS) -> Interval:
    """The interval for the mean of `after` - `before`, two metrics in [0, 1] on the same M problems."""
    before, after = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if before.shape != after.shape:
        raise DataError(f"a paired difference needs the same problems twice, not {before.shape} and {after.shape}.")
    return interval(after - before, key, level=level, draws=draws, bounds=DIFFERENCES)


def intervals(
    values: np.ndarray, key: Key, *, level: float = LEVEL, draws: int = DRAWS, bounds: tuple[float, float] = SHARES
) -> list[Interval]:
    """One interval for each column of float[M, K]; all columns use the same resampled problems."""
    return [one.within(level) for one in over_problems(values, key, draws=draws, bounds=bounds)]


@dataclass(frozen=True, eq=False)
class OverProblems:
    """The mean of a value over problems, which were drawn from something larger: nothing is said of new seeds.

    over_problems(after - before, key, bounds=(-1.0, 1.0))[0].within(0.95)
    """

    values: np.ndarray  # float[M]
    resampled: np.ndarray  # float[draws], means over M problems drawn again; empty for a single problem
    bounds: tuple[float, float]  # in which every value lies

    @property
    def seeds(self) -> None:
        return None

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def _alike(self) -> bool:
        return bool(np.ptp(self.values) <= 1e-12)

    def within(self, level: float) -> Interval:
        """The interval at this level; without bounds for a single problem."""
        M, mean = len(self.values), self.mean
        if M == 1:
            return Interval(mean, math.nan, math.nan)
        if self._alike:
            return of_constant(mean, M, level, self.bounds)
        tails = ((1 - level) / 2, (1 + level) / 2)
        chosen = _bca_tails(self.values, self.resampled, tails) if M < SMALL else tails
        return Interval(mean, *map(float, np.quantile(self.resampled, chosen)))

    def chance(self, truth: float) -> float:
        """The chance of a mean so far from this truth, on either side: 1 minus the level whose interval touches it.
        With n resampled sets no chance below 1 / n can be told.
        """
        if len(self.values) == 1 or self.mean == truth:
            return 1.0
        if self._alike:
            return share_outside(self.mean, len(self.values), truth, self.bounds)
        return _touching(self.within, truth, 1 / len(self.resampled))

    def power(self, size: float, level: float) -> float:
        """The chance that so many problems leave 0 outside the interval at this level, if the truth is `size`."""
        error = self._spread / math.sqrt(len(self.values))
        return 1.0 if not error else _normal.cdf(size / error - _normal.inv_cdf((1 + level) / 2))

    def needed(self, size: float, level: float, *, power: float = POWER) -> Needed | None:
        """The problems that show a mean of this size with this chance: (z + z')^2 variance / size^2. The variance
        contains the noise of the samples of each problem.
        """
        if not self._spread:
            return None
        z = _normal.inv_cdf((1 + level) / 2) + _normal.inv_cdf(power)
        return Needed(problems=max(2, math.ceil(z**2 * self._spread**2 / size**2)))

    @property
    def _spread(self) -> float:
        return 0.0 if len(self.values) == 1 or self._alike else float(self.values.std(ddof=1))


@dataclass(frozen=True, eq=False)
class Resampled:
    """A measure that is no mean, such as a ratio, with its values on problems drawn again. It cannot tell what other
    numbers of problems would show.
    """

    mean: float  # on the problems at hand
    resampled: np.ndarray  # float[draws]

    @property
    def seeds(self) -> None:
        return None

    def within(self, level: float) -> Interval:
        low, high = np.quantile(self.resampled, ((1 - level) / 2, (1 + level) / 2))
        return Interval(self.mean, float(low), float(high))

    def chance(self, truth: float) -> float:
        """1 minus the level whose interval touches this truth."""
        return _touching(self.within, truth, 1 / len(self.resampled))

    def power(self, size: float, level: float) -> None:
        return None

    def needed(self, size: float, level: float) -> None:
        return None


def _touching(within: Callable[[float], Interval], truth: float, least: float) -> float:
    """1 minus the level whose interval touches this truth, which is no less than `least`."""
    low, high = math.log(least), 0.0
    if truth not in within(1 - least):
        return least
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if truth in within(1 - math.exp(middle)) else (low, middle)
    return math.exp(high)


def over_problems(
    values: np.ndarray, key: Key, *, draws: int = DRAWS, bounds: tuple[float, float] = SHARES
) -> list[OverProblems]:
    """One mean for each column of float[M, K], with values within `bounds`; all use the same resampled problems."""
    M = len(values)
    if M == 0:
        raise DataError("an interval over problems needs problems; the set is empty.")
    resampled = _resampled_means(values, key, draws) if M > 1 else np.empty((0, values.shape[1]))
    return [OverProblems(column, sample, bounds) for column, sample in zip(values.T, resampled.T, strict=True)]


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


def of_constant(value: float, units: int, level: float, bounds: tuple[float, float]) -> Interval:
    """The interval for so many equal values, where the bootstrap would give no width.

    If more than a share q = 1 - (1 - level)^(1/M) of all units had other values, at least one of M would have shown it
    with probability `level`.
    """
    q = 1 - (1 - level) ** (1 / units)
    return Interval(value, value - q * (value - bounds[0]), value + q * (bounds[1] - value))


def share_outside(value: float, units: int, truth: float, bounds: tuple[float, float]) -> float:
    """The chance of so many equal values if the truth is another one: 1 minus the level at which `of_constant` touches
    it. 0 where no share of other values within the bounds comes to that truth.
    """
    reach = value - bounds[0] if truth < value else bounds[1] - value
    q = abs(truth - value) / reach if reach > 0 else math.inf
    return (1 - q) ** units if q < 1 else 0.0
