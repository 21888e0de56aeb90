"""Two methods compared by runs with several seeds: an interval that holds for new seeds and for new problems.

The difference of a metric between two methods, with seed s on problem i, is thought of as

    d[s, i] = difference + effect of the seed + effect of the problem + rest

Seeds and problems are both drawn from something larger, and cross each other: every seed is examined on every problem.
The mean over all S x M then has the variance A + B - C, where A is the variance of the means of seeds over S, B that of
the means of problems over M, and C that of the rest over S M, which A and B both contain.

`effect` has the interval of one mean, with Satterthwaite's degrees of freedom. A verdict needs an interval that errs no
more often than it says, far out in the tails and from five seeds. `Effect.within` gives it, by the sum of the squared
half-widths that either part would have alone (Banerjee, 1960):

    half^2 = t(S - 1)^2 A + t(M - 1)^2 (B - C)

It holds the truth at least as often as it says where the parts are independent and normal. The estimate of B - C may be
below 0, and that of A below C, although the true values are not: the sum A + B - C is then taken for no less than A and
than B.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from assay.errors import DataError
from assay.scoring.intervals import LEVEL, POWER, Interval, Needed, of_constant, share_outside

NOTHING = 1e-24  # a variance that is rounding
MOST_SEEDS, MOST_PROBLEMS = 200, 1_000_000  # that are ever asked for
LEAST_CHANCE = 1e-12  # of a difference so far from something; smaller ones are this
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Effect:
    """A mean over seeds and problems, with an interval for it alone.

    effect(after - before, bounds=(-1.0, 1.0)).within(0.99)
    """

    mean: float
    low: float
    high: float
    seeds: int
    problems: int  # 1 where nothing is known of single ones
    error: float  # the standard error of the mean; 0 where all values are alike
    freedom: float  # degrees of freedom of that error
    of_seeds: float  # A: what the seeds at hand add to the variance of the mean
    of_problems: float  # B - C: what the problems at hand add
    bounds: Bounds | None = None  # in which every value lies

    def within(self, level: float) -> Interval:
        """The interval that leaves the truth out in at most 1 - level of all studies, however few their seeds."""
        if not self.error:
            return self._of_alike(level)
        half = _half(self._parts, self._sizes, (1 + level) / 2)
        return _cut(Interval(self.mean, self.mean - half, self.mean + half), self.bounds)

    def _of_alike(self, level: float) -> Interval:
        if self.bounds is None:
            return Interval(self.mean, self.mean, self.mean)
        return of_constant(self.mean, self._units, level, self.bounds)

    @property
    def _parts(self) -> tuple[float, float]:
        return self.of_seeds, self.of_problems

    @property
    def _sizes(self) -> tuple[int, int]:
        return self.seeds, self.problems

    @property
    def _units(self) -> int:
        return self.problems if self.problems > 1 else self.seeds

    def chance(self, truth: float) -> float:
        """The chance of a mean so far from this truth, on either side: 1 minus the level whose interval touches it."""
        far = abs(self.mean - truth)
        if not self.error:
            return _chance_of_alike(self, truth)
        if far == 0.0:
            return 1.0
        z = far / math.sqrt(sum(self._parts))
        freedoms = [size - 1 for size in self._sizes if size > 1]
        least, most = sorted(max(LEAST_CHANCE, student_p(z, freedom)) for freedom in (min(freedoms), max(freedoms)))

        def beyond(x: float) -> float:
            return math.log(_half(self._parts, self._sizes, 1 - math.exp(x) / 2) / far)

        return math.exp(_root(beyond, math.log(least), math.log(most)))

    def power(self, size: float, level: float) -> float:
        """The chance that a study like this one leaves 0 outside the interval at this level, if the truth is `size`."""
        return self._power(size, level, self.seeds, self.problems)

    def needed(self, size: float, level: float, *, power: float = POWER) -> Needed | None:
        """The seeds that would show this size with this chance, on these problems; else the problems that would, with
        these seeds; else both. None where no number within reason would.
        """

        def shown(seeds: int, problems: int) -> bool:
            return self._power(size, level, seeds, problems) >= power

        def seeds_on(problems: int) -> int | None:
            enough = shown(MOST_SEEDS, problems)
            return _least(lambda seeds: shown(seeds, problems), 3, MOST_SEEDS) if enough else None

        if not self.error:
            return None
        if (seeds := seeds_on(self.problems)) is not None:
            return Needed(seeds=seeds)
        if self.problems == 1:
            return None
        if shown(self.seeds, MOST_PROBLEMS):
            return Needed(problems=_least(lambda problems: shown(self.seeds, problems), 2, MOST_PROBLEMS))
        problems = self.problems
        while problems < MOST_PROBLEMS and (seeds := seeds_on(problems)) is None:
            problems *= 2
        return None if seeds is None else Needed(seeds, problems)

    def _power(self, size: float, level: float, seeds: int, problems: int) -> float:
        """The power by the usual approximation of the noncentral t, with variances of so many seeds and problems."""
        if not self.error:
            return 1.0
        a, b = self.of_seeds * self.seeds / seeds, self.of_problems * self.problems / problems
        half, error = _half((a, b), (seeds, problems), (1 + level) / 2), math.sqrt(a + b)
        freedom = (a + b) ** 2 / (a**2 / (seeds - 1) + b**2 / max(problems - 1, 1))
        least, middle = half / error, size / error  # in standard errors: the bound for a mean, and where it lies
        z = (middle - least * (1 - 1 / (4 * freedom))) / math.sqrt(1 + least**2 / (2 * freedom))
        return NormalDist().cdf(z)


@dataclass(frozen=True)
class Few:
    """A mean of one seed, or of none (NaN), of which nothing more can be said."""

    mean: float
    seeds: int

    def within(self, level: float) -> Interval:
        return Interval(self.mean, math.nan, math.nan)

    def chance(self, truth: float) -> float:
        return 1.0

    def power(self, size: float, level: float) -> None:
        return None

    def needed(self, size: float, level: float) -> None:
        return None


def _half(parts: tuple[float, float], sizes: tuple[int, int], share: float) -> float:
    """Half the width of the interval with an upper tail of 1 - share. `parts` are the variances that seeds and problems
    leave in a mean, `sizes` the numbers of both.
    """
    known = [(part, size - 1) for part, size in zip(parts, sizes, strict=True) if size > 1]
    return math.sqrt(sum(student_quantile(share, freedom) ** 2 * part for part, freedom in known))


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    """The zero of f between two numbers, at which f has different signs or is 0 (the Illinois method)."""
    at_low, at_high = f(low), f(high)
    if at_low * at_high >= 0:  # an end is the root, but for rounding
        return low if abs(at_low) < abs(at_high) else high
    for _ in range(60):
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        at = f(middle)
        if abs(at) < 1e-10:
            return middle
        if at * at_high < 0:
            low, at_low = high, at_high
        else:
            at_low /= 2
        high, at_high = middle, at
    return high


def _chance_of_alike(found: Effect, truth: float) -> float:
    if found.mean == truth:
        return 1.0
    if found.bounds is None:
        return LEAST_CHANCE
    return max(LEAST_CHANCE, share_outside(found.mean, found._units, truth, found.bounds))


def _cut(found: Interval, bounds: Bounds | None) -> Interval:
    """The interval cut to the bounds of all values."""
    if bounds is None:
        return found
    return Interval(found.mean, max(found.low, bounds[0]), min(found.high, bounds[1]))


def _least(enough: Callable[[int], bool], low: int, high: int) -> int:
    """The least number in low .. high that is enough. `high` must be enough, and so must each number above an enough
    one.
    """
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def effect(values: np.ndarray, *, level: float = LEVEL, bounds: Bounds | None = None) -> Effect:
    """The effect of float[S, M] values, one for each seed and problem, which lie within `bounds` if these are given.
    Needs two seeds and two problems at least.

    effect(after - before)  # of two methods, trained with the same seeds and examined on the same problems
    """
    d = np.asarray(values, dtype=np.float64)
    if d.ndim != 2 or min(d.shape) < 2:
        raise DataError(f"an effect over seeds and problems needs two of each at least, not an array of {d.shape}.")
    seeds, problems = d.shape
    mean, of_seeds, of_problems = float(d.mean()), d.mean(1), d.mean(0)
    rest = d - of_seeds[:, None] - of_problems[None, :] + mean
    a, b = float(of_seeds.var(ddof=1)) / seeds, float(of_problems.var(ddof=1)) / problems
    crossed = (seeds - 1) * (problems - 1)
    c = float((rest**2).sum()) / crossed / d.size
    variance = max(a + b - c, a, b)  # the estimate may fall below its parts, although the true variance does not
    if variance <= NOTHING:
        return _alike(mean, seeds, problems, level, bounds)
    freedom = variance**2 / (a**2 / (seeds - 1) + b**2 / (problems - 1) + c**2 / crossed)  # Satterthwaite
    freedom = max(freedom, 1.0)  # the estimate may fall below 1, since c is taken off it
    return _effect(mean, variance, freedom, (seeds, problems), (a, variance - a), level, bounds)


def effect_of_seeds(values: Sequence[float], *, level: float = LEVEL, bounds: Bounds | None = None) -> Effect:
    """The effect of one value for each seed, where nothing is known of single problems: it holds for new seeds on the
    problems of the exam (Student's t).
    """
    d = np.asarray(values, dtype=np.float64)
    if d.ndim != 1 or len(d) < 2:
        raise DataError(f"an effect over seeds needs two of them at least, not an array of {d.shape}.")
    mean, variance = float(d.mean()), float(d.var(ddof=1)) / len(d)
    if variance <= NOTHING:
        return _alike(mean, len(d), 1, level, bounds)
    return _effect(mean, variance, len(d) - 1, (len(d), 1), (variance, 0.0), level, bounds)


def _effect(
    mean: float,
    variance: float,
    freedom: float,
    units: tuple[int, int],
    parts: tuple[float, float],
    level: float,
    bounds: Bounds | None,
) -> Effect:
    error = math.sqrt(variance)
    half = student_quantile((1 + level) / 2, freedom) * error
    alone = _cut(Interval(mean, mean - half, mean + half), bounds)
    return Effect(mean, alone.low, alone.high, *units, error, freedom, *parts, bounds)


def _alike(mean: float, seeds: int, problems: int, level: float, bounds: Bounds | None) -> Effect:
    """The effect of values that are all alike: nothing was seen of their spread."""
    found = Effect(mean, mean, mean, seeds, problems, 0.0, math.inf, 0.0, 0.0, bounds)
    alone = found.within(level)
    return dataclasses.replace(found, low=alone.low, high=alone.high)


def student_p(t: float, freedom: float) -> float:
    """The chance that a variable of Student's distribution lies as far from 0 as t, on either side."""
    import mpmath

    return float(mpmath.betainc(freedom / 2, 0.5, 0, freedom / (freedom + t * t), regularized=True))


@functools.lru_cache(maxsize=4096)
def student_quantile(share: float, freedom: float) -> float:
    """The number below which a variable of Student's distribution lies with this chance, of one half or more.

    By Newton's method from the normal quantile, which lies below it: the tail is convex, so that no step leads past.
    """
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    t = NormalDist().inv_cdf(share)
    for _ in range(100):
        density = math.exp(scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = (student_p(t, freedom) / 2 - (1 - share)) / density
        t += step
        if step <= 1e-12 * (1 + t):
            return t
    return t


def smallest_effect(seeds: int, spread: float, *, power: float = POWER, level: float = LEVEL) -> float:
    """The smallest difference that so many seeds show with this chance at this level, if differences between paired
    seeds have this standard deviation and problems are many. One seed shows none.
    """
    if seeds < 2:
        return math.inf
    freedom = seeds - 1
    least = student_quantile((1 + level) / 2, freedom)
    z = NormalDist().inv_cdf(power)
    middle = least * (1 - 1 / (4 * freedom)) + z * math.sqrt(1 + least**2 / (2 * freedom))
    return middle * spread / math.sqrt(seeds)
