"""What a run spends entropy on, as functions of arrays: when in training, in which answers, and at which tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.rng import Key

SEGMENT = 5  # the fewest steps of a stage
SHUFFLES = 500


@dataclass(frozen=True)
class Exchange:
    """The line R = -a exp(H) + b through the steps of a run, of score R and entropy H."""

    a: float
    b: float
    explained: float  # R2 of the line
    by_step: float  # R2 of a line through the steps in place of exp(H): what two trends share
    changes: float  # correlation of -exp(H) and R in their changes from step to step
    chance: float  # of a correlation as far from 0, if the changes had nothing to do with each other


def exchange(entropy: np.ndarray, score: np.ndarray, key: Key) -> Exchange:
    """Least squares for R = -a exp(H) + b. Two series that both have a trend fit a line well, so that the fit of the
    steps alone and the correlation of changes, which have no trend, stand beside it; its chance is by shuffling.
    """
    x = np.exp(entropy)
    slope, intercept = _line(x, score)
    dx, dy = -np.diff(x), np.diff(score)
    seen, generator = _correlation(dx, dy), key("shuffles", len(score)).generator()
    luck = [abs(_correlation(dx, generator.permutation(dy))) >= abs(seen) - 1e-12 for _ in range(SHUFFLES)]
    return Exchange(
        a=-slope,
        b=intercept,
        explained=_explained(x, score),
        by_step=_explained(np.arange(len(score), dtype=float), score),
        changes=seen,
        chance=(1 + sum(luck)) / (1 + SHUFFLES),
    )


def _line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope and intercept of the least squares of y on x; the slope is 0 where x is constant."""
    centred = x - x.mean()
    size = float(centred @ centred)
    slope = float(centred @ y) / size if size > 0 else 0.0
    return slope, float(y.mean()) - slope * float(x.mean())


def _left(x: np.ndarray, y: np.ndarray) -> float:
    """The sum of squares that the line of y on x leaves."""
    slope, intercept = _line(x, y)
    return float(((y - slope * x - intercept) ** 2).sum())


def _explained(x: np.ndarray, y: np.ndarray) -> float:
    whole = float(((y - y.mean()) ** 2).sum())
    return 1.0 - _left(x, y) / whole if whole > 0 else 0.0


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    sizes = x.std() * y.std()
    return float(((x - x.mean()) * (y - y.mean())).mean() / sizes) if sizes > 0 else 0.0


@dataclass(frozen=True)
class Turn:
    """Where entropy turns from falling to a plateau: the best two lines through its steps."""

    step: int  # the first of the second stage
    before: float  # change of entropy by step in the first stage
    after: float
    explained: float  # of the squares that one line leaves, the share that two lines explain


def turn(steps: Sequence[int], entropy: np.ndarray) -> Turn | None:
    """The split with the least sum of squares of two lines, each of `SEGMENT` steps or more; None for a run of fewer
    than twice as many.
    """
    x = np.array(steps, dtype=float)
    splits = range(SEGMENT, len(x) - SEGMENT + 1)
    if not splits:
        return None
    sums = [_left(x[:i], entropy[:i]) + _left(x[i:], entropy[i:]) for i in splits]
    best, whole = splits[int(np.argmin(sums))], _left(x, entropy)
    slopes = (_line(x[:best], entropy[:best])[0], _line(x[best:], entropy[best:])[0])
    return Turn(int(steps[best]), *slopes, 1.0 - min(sums) / whole if whole > 0 else 0.0)


def parts(values: np.ndarray, count: int) -> np.ndarray:
    """int: the part of each value when their ranks are cut into `count` parts of equal size; equal values keep their
    order.
    """
    rank = np.empty(len(values), dtype=int)
    rank[np.argsort(values, kind="stable")] = np.arange(len(values))
    return rank * count // max(1, len(values))


def shares(part: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """float[count]: the share of the sum of the weights that lies in each part; zeros where there is no weight."""
    sums = np.bincount(part, weights, count)
    return sums / sums.sum() if sums.sum() > 0 else sums
