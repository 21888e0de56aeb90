"""Evaluation as inference: a belief about each problem's chance of a right answer, after a few samples.

Legend: M problems, n[M] samples, c[M] right ones; the chance of a problem has a Beta distribution before its samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from assay.errors import DataError
from assay.rng import Key
from assay.scoring.intervals import LEVEL
from assay.scoring.passk import Counts, Values

DRAWS = 4000
LEAST, MOST = 1e-3, 1e4  # bounds of the search for the parameters of a Beta distribution
STEPS = 200  # of Newton's method, at most
Prior = tuple[float, float]
UNIFORM: Prior = (1.0, 1.0)
Bank = tuple[Counts, Counts]  # n and c


@dataclass(frozen=True)
class Posterior:
    """The belief about the mean score of these problems. It says nothing of other problems."""

    mean: float
    sd: float
    low: float
    high: float


def posterior(
    counts: np.ndarray | Sequence[Sequence[int]],
    weights: Sequence[float] = (0.0, 1.0),
    *,
    before: np.ndarray | None = None,
    level: float = LEVEL,
) -> Posterior:
    """The mean score of problems whose answers fall into categories with these weights: counts int[M, categories].

    Before the samples every division of a problem's answers among the categories is equally likely; `before` may hold
    counts of earlier samples (2510.04265). A score of few samples is drawn towards the middle of the weights.

    posterior([[5, 3], [8, 0]]).mean  # two problems, eight samples each; wrong ones count 0, right ones 1
    """
    given, worth = np.asarray(counts, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] != len(worth) or not len(given) or (given < 0).any():
        raise DataError(
            f"counts of {len(worth)} categories for each problem are needed, none below 0, not an array of "
            f"{given.shape}."
        )
    believed = given + 1.0 + (0.0 if before is None else before)
    total = believed.sum(1)
    shares = believed / total[:, None]
    means = shares @ worth
    variances = (shares @ worth**2 - means**2) / (total + 1)
    mean, sd = float(means.mean()), math.sqrt(float(variances.sum())) / len(given)
    z = NormalDist().inv_cdf((1 + level) / 2)
    return Posterior(mean, sd, max(mean - z * sd, float(worth.min())), min(mean + z * sd, float(worth.max())))


def fit_beta(n: Counts | Sequence[int], c: Counts | Sequence[int]) -> Prior:
    """The Beta distribution of chances under which these counts are likeliest (empirical Bayes).

    With A_j problems of more than j right samples, B_j of more than j wrong ones and N_j of more than j samples, the
    logarithm of the likelihood is sum_j A_j log(a + j) + B_j log(b + j) - N_j log(a + b + j), which Newton's method
    climbs in the logarithms of a and b. They are kept between LEAST and MOST: where all problems are alike, there is no
    likeliest spread.
    """
    n, c = np.asarray(n, dtype=np.int64), np.asarray(c, dtype=np.int64)
    if n.shape != c.shape or n.ndim != 1 or not len(n) or (c < 0).any() or (c > n).any():
        raise DataError("a Beta distribution is fitted to as many counts of right samples as of samples, none larger.")
    j = np.arange(int(n.max(initial=0)))
    right, wrong, all_ = (len(x) - np.cumsum(np.bincount(x, minlength=len(j)))[: len(j)] for x in (c, n - c, n))

    def climb(a: float, b: float) -> tuple[float, np.ndarray, np.ndarray]:
        """The logarithm of the likelihood, its gradient and its second derivatives, in log a and log b."""
        value = float((right * np.log(a + j) + wrong * np.log(b + j) - all_ * np.log(a + b + j)).sum())
        whole, curved = float((all_ / (a + b + j)).sum()), float((all_ / (a + b + j) ** 2).sum())
        by = np.array([float((right / (a + j)).sum()) - whole, float((wrong / (b + j)).sum()) - whole])
        twice = np.full((2, 2), curved)
        twice[0, 0] -= float((right / (a + j) ** 2).sum())
        twice[1, 1] -= float((wrong / (b + j) ** 2).sum())
        at = np.array([a, b])
        return value, by * at, twice * np.outer(at, at) + np.diag(by * at)

    mean = min(max(float(c.sum()) / max(int(n.sum()), 1), 0.01), 0.99)
    at = np.log([mean, 1 - mean])
    bounds = math.log(LEAST), math.log(MOST)
    for _ in range(STEPS):
        value, gradient, curvature = climb(*np.exp(at).tolist())
        inside = ~(((at <= bounds[0]) & (gradient < 0)) | ((at >= bounds[1]) & (gradient > 0)))
        if not inside.any() or np.abs(gradient[inside]).max() < 1e-9 * max(1.0, len(n)):
            break
        free = np.flatnonzero(inside)
        part = curvature[np.ix_(free, free)]
        climbs = np.linalg.eigvalsh(part).max() < 0  # else the surface is not yet a hill, and the gradient is followed
        step = np.zeros(2)
        step[free] = -np.linalg.solve(part, gradient[free]) if climbs else gradient[free] / np.abs(gradient[free]).max()
        lengths = (0.5**halving for halving in range(40))
        tried = (np.clip(at + length * step, *bounds) for length in lengths)
        there = next((point for point in tried if climb(*np.exp(point).tolist())[0] > value), None)
        if there is None:
            break
        at = there
    a, b = np.clip(np.exp(at), LEAST, MOST).tolist()
    return a, b


def pass_posterior(n: Counts, c: Counts, *, k: int, prior: Prior) -> Values:
    """The expected pass@k of each problem: 1 - prod_{j<k} (b + n - c + j) / (a + b + n + j).

    It exists for k above n too, where it goes on with the tail of the Beta distribution, and was not measured.
    """
    if k < 1 or min(prior) <= 0:
        raise DataError(f"k must be at least 1 and a Beta distribution has positive parameters, not {k} and {prior}.")
    a, b = prior
    n, c = np.asarray(n, dtype=np.float64), np.asarray(c, dtype=np.float64)
    missed = np.zeros(len(n))
    for j in range(k):
        missed += np.log(b + n - c + j) - np.log(a + b + n + j)
    return 1.0 - np.exp(missed)


@dataclass(frozen=True)
class Better:
    """How likely one model is better than another on these problems, and by how much."""

    chance: float
    mean: float
    low: float
    high: float


def better(
    first: Bank, other: Bank, key: Key, *, priors: tuple[Prior, Prior] | None = None, draws: int = DRAWS
) -> Better:
    """How likely the mean chance of the other model is above that of the first, by draws from the beliefs about both.

    Without `priors`, each model's own is fitted to its counts.
    """
    if len(first[0]) != len(other[0]):
        raise DataError(f"two models are compared on the same problems, not on {len(first[0])} and {len(other[0])}.")
    generator = key("posterior", draws).generator()
    means = []
    for (n, c), prior in zip((first, other), priors or (fit_beta(*first), fit_beta(*other)), strict=True):
        n, c = np.asarray(n), np.asarray(c)
        means.append(generator.beta(prior[0] + c, prior[1] + n - c, size=(draws, len(n))).mean(1))
    gap = means[1] - means[0]
    low, high = np.quantile(gap, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Better(float((gap > 0).mean()), float(gap.mean()), float(low), float(high))
