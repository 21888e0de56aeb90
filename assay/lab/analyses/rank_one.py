"""The first singular direction of an update: models that keep it alone, and how it moves from checkpoint to checkpoint.

Legend: z_t = sigma_1(t) u_1(t) of Delta W_t = W_t - W_0, for checkpoints t = 1...T; d_t = z_{t+1} - z_t their steps;
y_t what is read off them, such as the step of training. All measures of a path depend on the products of its steps
alone, G_st = <d_s, d_t>, so that vectors are needed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.lab.analyses.changes import energy, first_direction
from assay.rng import Key

FITTED = 0.4  # the share of the checkpoints that a line is fitted to; it is judged on the others
WALKS = 200  # random walks that a path is compared with
KEY = Key("rank1-dynamics")


def truncated(delta: np.ndarray) -> np.ndarray:
    """sigma_1 u_1 v_1^T, the first singular direction of a change."""
    size, u, v = first_direction(delta)
    return size * np.outer(u, v)


def matched(delta: np.ndarray) -> np.ndarray:
    """The first singular direction with the norm of the whole change, ||Delta||_F u_1 v_1^T."""
    _, u, v = first_direction(delta)
    return energy(delta) ** 0.5 * np.outer(u, v)


def second(delta: np.ndarray) -> np.ndarray:
    """The second singular direction with the norm of the whole change: zero where there is no second."""
    rest = delta - truncated(delta)
    return matched(rest) * (energy(delta) / energy(rest)) ** 0.5 if energy(rest) > 1e-20 * energy(delta) else rest * 0


def random_direction(delta: np.ndarray, key: Key) -> np.ndarray:
    """A matrix of rank one with the norm of a change, whose two directions are random."""
    generator = key.generator()
    drawn = np.outer(generator.standard_normal(delta.shape[0]), generator.standard_normal(delta.shape[1]))
    return drawn * (energy(delta) / energy(drawn)) ** 0.5


def energy_share(delta: np.ndarray) -> float:
    """sigma_1^2 / ||Delta||_F^2, the part of a change that its first direction holds."""
    return first_direction(delta)[0] ** 2 / energy(delta)


def aligned(directions: Sequence[np.ndarray]) -> list[int]:
    """The signs, 1 or -1, that make neighbours point alike: each direction is turned so that its product with the next
    is not negative, from the last, which stays, back to the first.
    """
    signs = [1]
    for earlier, later in zip(reversed(directions[:-1]), reversed(directions[1:]), strict=True):
        signs.append(signs[-1] * (-1 if float(earlier @ later) < 0 else 1))
    return signs[::-1]


def steps_of(series: Sequence[np.ndarray]) -> np.ndarray:
    """float[T - 1, T - 1]: G_st = <d_s, d_t>, the products of the steps of a path."""
    path = np.stack(list(series))
    steps = path[1:] - path[:-1]
    return steps @ steps.T


def straightness(steps: np.ndarray) -> float:
    """||z_T - z_1|| / sum ||z_{t+1} - z_t||: 1 on a line; 1 / sqrt(T - 1) where equal steps have nothing in common."""
    length = float(np.sqrt(np.diag(steps)).sum())
    return float(np.sqrt(max(0.0, steps.sum())) / length) if length > 0 else 0.0


def turning(steps: np.ndarray) -> float:
    """The mean cosine between a step and the next: 1 on a line, 0 where steps have nothing in common."""
    norms = np.sqrt(np.diag(steps))
    products, sizes = np.diag(steps, 1), norms[:-1] * norms[1:]
    return float(np.mean(np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0)))


def explained(steps: np.ndarray, y: np.ndarray, fitted: int) -> np.ndarray:
    """R^2 of y on the score of partial least squares with one component, for each float[..., T - 1, T - 1] of steps.

    The line is fitted to the first `fitted` checkpoints, A. With y' = y - mean_A y and z' = z - mean_A z the score is
    tau_t = sum_{s in A} y'_s <z'_s, z'_t>, and yhat = mean_A y + q tau, q = sum_A tau y' / sum_A tau^2. It is judged on
    the others, or on all where all were fitted: R^2 = 1 - sum (y - yhat)^2 / sum (y - their mean)^2, which may be
    negative.
    """
    T = len(y)
    sums = np.tril(np.ones((T, T - 1)), -1)  # z_t - z_1 is the sum of the steps before t
    products = sums @ steps @ sums.T
    over = products[..., :fitted].mean(-1, keepdims=True)
    centred = (
        products[..., :fitted]
        - over
        - over.swapaxes(-1, -2)[..., :fitted]
        + over[..., :fitted, :].mean(-2, keepdims=True)
    )
    gained = y[:fitted] - y[:fitted].mean()
    tau = centred @ gained
    squares = (tau[..., :fitted] ** 2).sum(-1)
    slope = np.divide(tau[..., :fitted] @ gained, squares, out=np.zeros_like(squares), where=squares > 1e-300)
    judged = slice(fitted, None) if fitted < T else slice(None)
    missed = y[judged] - y[:fitted].mean() - slope[..., None] * tau[..., judged]
    return 1 - (missed**2).sum(-1) / ((y[judged] - y[judged].mean()) ** 2).sum()


@dataclass(frozen=True)
class Linear:
    """How well a line through the early checkpoints tells the later ones, beside random walks.

    Linear(later=0.93, whole=0.98, chance_later=0.41, chance_whole=0.97, percentile=0.99)
    """

    later: float  # R^2 on the checkpoints that were not fitted: the median over the matrices
    whole: float  # R^2 where all are fitted
    chance_later: float  # the same of random walks, their 95th percentile
    chance_whole: float
    percentile: float  # the share of random walks that tell the later checkpoints less well; equal ones count half

    @property
    def holds(self) -> bool:
        """Whether the path is told better than 95 of 100 random walks with the same steps."""
        return self.percentile >= 0.95


def linear(paths: Sequence[np.ndarray], y: np.ndarray, key: Key) -> Linear:
    """The medians of R^2 over matrices, beside those of random walks.

    A walk has the same steps with random signs, the same signs in all matrices: G_st becomes e_s e_t G_st. That keeps
    the sizes of all steps and the plane in which they lie, and takes away their common direction. Where steps are
    orthogonal, as in any random walk of many dimensions, signs change nothing: such a path is at the percentile 0.5.
    """
    T = len(y)
    fitted = max(3, round(FITTED * T))
    signs = key.generator().choice([-1.0, 1.0], size=(WALKS, T - 1))
    flips = signs[:, :, None] * signs[:, None, :]

    def median(count: int, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return np.median([explained(change(path), y, count) for path in paths], axis=0)

    later, whole = (float(median(count, lambda path: path)) for count in (fitted, T))
    walked, walked_whole = (median(count, lambda path: flips * path) for count in (fitted, T))
    slack = 1e-9 * max(1.0, abs(later))
    below, alike = (walked < later - slack).mean(), (np.abs(walked - later) <= slack).mean()
    return Linear(
        later=later,
        whole=whole,
        chance_later=float(np.quantile(walked, 0.95)),
        chance_whole=float(np.quantile(walked_whole, 0.95)),
        percentile=float(below + alike / 2),
    )


def log_odds(rate: float, count: int) -> float:
    """log((c + 1/2) / (n - c + 1/2)) of c = rate n right answers of n: finite at 0 and at 1."""
    right = rate * count
    return float(np.log((right + 0.5) / (count - right + 0.5)))
