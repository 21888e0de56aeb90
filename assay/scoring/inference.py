"""What runs with several seeds say of two methods: an interval that holds for new seeds and for new problems.

The difference of a metric between two methods, with seed s on problem i, is thought of as

    d[s, i] = difference + effect of the seed + effect of the problem + rest

Seeds and problems are both drawn from something larger, and cross each other: every seed is examined on every problem.
The mean over all S x M then has the variance A + B - C, where A is the variance of the means of seeds over S, B that of
the means of problems over M, and C that of the rest over S M, which A and B both contain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from assay.errors import DataError
from assay.scoring.intervals import LEVEL

NOTHING = 1e-24  # a variance that is rounding


@dataclass(frozen=True)
class Effect:
    """A mean over seeds and problems with its interval, and the chance of one so far from 0 if the true one is 0."""

    mean: float
    low: float
    high: float
    p: float
    seeds: int
    problems: int
    error: float  # the standard error of the mean; 0 where all values are alike
    freedom: float  # degrees of freedom of that error

    def p_within(self, margin: float) -> float:
        """The chance of a mean so far inside -margin .. margin if the true one lies outside (two one-sided tests)."""
        if not self.error:
            return 0.0 if abs(self.mean) < margin else 1.0
        t = (margin - abs(self.mean)) / self.error
        tail = student_p(t, self.freedom) / 2
        return tail if t > 0 else 1.0 - tail


def effect(values: np.ndarray, *, level: float = LEVEL) -> Effect:
    """The effect of float[S, M] values, one for each seed and problem. Needs two seeds and two problems at least.

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
    variance = max(a + b - c, a, b)  # the estimate may fall below its parts, which the true variance does not
    if variance <= NOTHING:
        return _alike(mean, seeds, problems)
    freedom = variance**2 / (a**2 / (seeds - 1) + b**2 / (problems - 1) + c**2 / crossed)  # Satterthwaite
    return _effect(mean, variance, freedom, seeds, problems, level)


def effect_of_seeds(values: Sequence[float], *, level: float = LEVEL) -> Effect:
    """The effect of one value for each seed, where nothing is known of single problems: it holds for new seeds on the
    problems of the exam (Student's t).
    """
    d = np.asarray(values, dtype=np.float64)
    if d.ndim != 1 or len(d) < 2:
        raise DataError(f"an effect over seeds needs two of them at least, not an array of {d.shape}.")
    mean, variance = float(d.mean()), float(d.var(ddof=1)) / len(d)
    return _alike(mean, len(d), 1) if variance <= NOTHING else _effect(mean, variance, len(d) - 1, len(d), 1, level)


def _effect(mean: float, variance: float, freedom: float, seeds: int, problems: int, level: float) -> Effect:
    error = math.sqrt(variance)
    half = student_quantile((1 + level) / 2, freedom) * error
    return Effect(mean, mean - half, mean + half, student_p(mean / error, freedom), seeds, problems, error, freedom)


def _alike(mean: float, seeds: int, problems: int) -> Effect:
    """Of values that are all alike: nothing was seen of their spread."""
    return Effect(mean, mean, mean, 1.0 if abs(mean) < 1e-12 else 0.0, seeds, problems, 0.0, math.inf)


def student_p(t: float, freedom: float) -> float:
    """The chance that a variable of Student's distribution lies as far from 0 as t, on either side."""
    import mpmath

    return float(mpmath.betainc(freedom / 2, 0.5, 0, freedom / (freedom + t * t), regularized=True))


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


def holm(chances: Sequence[float]) -> list[float]:
    """Holm's correction: the chances of several tests such that any of them lies below alpha by accident with a chance
    of at most alpha. `holm([0.01, 0.04])` is `[0.02, 0.04]`.
    """
    corrected, least = [0.0] * len(chances), 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=lambda i: chances[i])):
        least = max(least, min(1.0, (len(chances) - rank) * chances[place]))
        corrected[place] = least
    return corrected


def seeds_needed(of_seeds: Sequence[float], smallest: float, *, power: float = 0.8, level: float = LEVEL) -> int:
    """How many seeds would show a difference of this size with this chance, if seeds spread as these differences do:
    (z + z')^2 variance / smallest^2 + 2, where problems are so many that seeds decide.
    """
    normal = NormalDist()
    z = normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(power)
    return math.ceil(z**2 * float(np.var(of_seeds, ddof=1)) / smallest**2 + 2)


def smallest_effect(seeds: int, spread: float, *, power: float = 0.8, level: float = LEVEL) -> float:
    """The smallest difference that so many seeds show with this chance, if differences between paired seeds have this
    standard deviation: `seeds_needed` turned around. Two seeds and fewer show none.
    """
    if seeds <= 2:
        return math.inf
    normal = NormalDist()
    return (normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(power)) * spread / math.sqrt(seeds - 2)
