"""Problems that nobody solves, told from those that a few samples missed: a share of chances that are zero.

Legend: M problems; a bank has n[M] samples of each, of which c[M] were right. A share `never` of the problems has the
chance 0 of a right answer; the chances of the others have a Beta distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.scoring.boundary import Counts

SHARES = np.linspace(0.0, 0.995, 200)  # of problems with no chance, that are compared
FIRST, SECOND = np.geomspace(0.02, 50.0, 60), np.geomspace(0.02, 2000.0, 90)  # a and b of a Beta, that are compared
BEYOND = 1.92  # half the 95 % quantile of chi-square with one degree of freedom


@dataclass(frozen=True)
class Never:
    """The share of problems that no number of samples solves.

    never_solved(counts).share
    """

    share: float  # the likeliest
    low: float  # bounds of the 95 % interval
    high: float

    @property
    def shown(self) -> bool:
        """Whether the counts say that there are such problems."""
        return self.low > 0


def never_solved(counts: Counts) -> Never:
    """The zero-inflated beta-binomial, by a grid: with z the share, a and b of the Beta and B its moments,

        log L = sum_{c > 0} log((1 - z) B(c, n - c)) + sum_{c = 0} log(z + (1 - z) B(0, n)),
        B(c, m) = prod_{j < c} (a + j) prod_{j < m} (b + j) / prod_{j < c + m} (a + b + j).

    The interval has all shares whose likelihood, at their likeliest a and b, is at most `BEYOND` logarithms below the
    greatest. A Beta that heaps up at 0 looks like a share of zeros: then the interval begins at 0.
    """
    solved = counts.c > 0
    curves = np.full(len(SHARES), -np.inf)
    right, wrong = counts.c[solved], (counts.n - counts.c)[solved]
    fixed = _sum_of_logs(FIRST, right)[:, None] + _sum_of_logs(SECOND, wrong)[None, :] - _paired(counts.n[solved])
    lengths, often = np.unique(counts.n[~solved], return_counts=True)
    missed = [np.exp(_sum_of_logs(SECOND, np.array([n]))[None, :] - _paired(np.array([n]))) for n in lengths]
    for i, share in enumerate(SHARES):
        value = fixed + solved.sum() * np.log1p(-share)
        for q, times in zip(missed, often, strict=True):
            value = value + times * np.log(share + (1 - share) * q)
        curves[i] = value.max()
    inside = SHARES[curves >= curves.max() - BEYOND]
    return Never(float(SHARES[curves.argmax()]), float(inside[0]), float(inside[-1]))


def _sum_of_logs(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """sum over counts m of sum_{j < m} log(start + j), for each start: float of the shape of `starts`."""
    total = np.zeros(starts.shape)
    for j in range(int(counts.max(initial=0))):
        total += (counts > j).sum() * np.log(starts + j)
    return total


def _paired(counts: np.ndarray) -> np.ndarray:
    """The same for the starts a + b, as float[A, B]."""
    return _sum_of_logs(FIRST[:, None] + SECOND[None, :], counts)


def still_solvable(counts: Counts) -> float:
    """At least so many of the problems without a right answer have a chance, by Chao: (n - 1) / n f1^2 / (2 f2), with
    f_j the problems with exactly j right answers, and (n - 1) / n f1 (f1 - 1) / 2 where f2 = 0. No more than there are.
    """
    unsolved, once, twice = (int((counts.c == j).sum()) for j in range(3))
    bound = once * once / (2 * twice) if twice else once * (once - 1) / 2
    return float(min(unsolved, bound * (counts.samples - 1) / counts.samples))
