"""How many problems and samples would settle a difference between two models, before they are drawn.

The mean difference of M problems, with K samples of each from either model, has the variance
(omega^2 + sigma_first^2 / K + sigma_other^2 / K) / M: omega^2 is the variance over problems of the true difference, and
sigma^2 the mean variance of one sample (2411.00640).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from assay.errors import DataError
from assay.scoring.intervals import LEVEL, POWER
from assay.scoring.passk import Counts


@dataclass(frozen=True)
class Spread:
    """How the answers of two models spread over problems and samples. Spread(0.05, 0.12, 0.12) is typical."""

    omega: float  # variance over problems of the difference of the models' chances
    first: float  # mean variance of one sample of the first model
    other: float

    @classmethod
    def of(cls, first: tuple[Counts, Counts], other: tuple[Counts, Counts]) -> Spread:
        """Estimated without bias from n and c of both models on the same problems, with two samples of each or more."""
        rates, samples, noise = [], [], []
        for n, c in (first, other):
            n, c = np.asarray(n, dtype=np.float64), np.asarray(c, dtype=np.float64)
            if len(n) < 2 or (n < 2).any():
                raise DataError("how answers spread is seen on two problems at least, with two samples of each.")
            rates.append(c / n)
            samples.append(c * (n - c) / (n * (n - 1)))  # variance of a sample of each problem
            noise.append(float((samples[-1] / n).mean()))  # of the rates, on average
        omega = float((rates[1] - rates[0]).var(ddof=1)) - sum(noise)
        return cls(max(omega, 0.0), float(samples[0].mean()), float(samples[1].mean()))

    def of_a_problem(self, samples: int) -> float:
        """The variance of one problem's measured difference."""
        return self.omega + (self.first + self.other) / samples


def problems_needed(spread: Spread, worth: float, *, samples: int, power: float = POWER, level: float = LEVEL) -> int:
    """How many problems show a difference of this size with this chance, with so many samples of each."""
    _positive(worth, samples)
    return max(2, math.ceil(_reach(power, level) ** 2 * spread.of_a_problem(samples) / worth**2))


def samples_needed(
    spread: Spread, worth: float, *, problems: int, power: float = POWER, level: float = LEVEL
) -> int | None:
    """The samples of each of so many problems that show it; None if no number does, and more problems are needed."""
    _positive(worth, problems)
    left = problems * (worth / _reach(power, level)) ** 2 - spread.omega
    return None if left <= 0 else max(1, math.ceil((spread.first + spread.other) / left - 1e-12))


def detectable(spread: Spread, *, problems: int, samples: int, power: float = POWER, level: float = LEVEL) -> float:
    """The smallest difference that so many problems and samples show with this chance."""
    _positive(1.0, problems, samples)
    return _reach(power, level) * math.sqrt(spread.of_a_problem(samples) / problems)


def _reach(power: float, level: float) -> float:
    """The size, in standard errors, of a difference that an interval at this level shows with this chance."""
    normal = NormalDist()
    return normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(power)


def _positive(worth: float, *counts: int) -> None:
    if not worth > 0 or any(count < 1 for count in counts):
        raise DataError(f"a difference is above 0 and counts are at least 1, not {worth} and {list(counts)}.")
