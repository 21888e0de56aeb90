"""The share of a worked solution to give, from a response curve fitted to the observed pass rates of a problem.

f(p) = b + (1 - b) / (1 + exp(-k (p + mu))) p: share of the steps that is given
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.part import Proportion, Remembering
from assay.tasks.task import steps_of
from assay.types import Episode, Request, by_group

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "hint-rates"
GRID = np.array(list(itertools.product((2, 10, 40), np.arange(-1.5, 0.75, 0.25), (0, 0.2, 0.4, 0.6))))  # k, mu, b
LOWEST, HIGHEST = np.array([1.0, -1.5, 0.0]), np.array([50.0, 1.0, 0.9])


def curve(rate: np.ndarray, k: float, mu: float, b: float) -> np.ndarray:
    """The response curve f(p)."""
    return b + (1 - b) / (1 + np.exp(-k * (rate + mu)))


def inverse(accuracy: float, k: float, mu: float, b: float) -> float:
    """f^-1(a) = log((a - b) / (1 - a)) / k - mu; minus infinity if guessing alone exceeds the accuracy a."""
    return float(np.log((accuracy - b) / (1 - accuracy)) / k - mu) if accuracy > b else float("-inf")


def fit(points: Mapping[float, float]) -> tuple[float, float, float]:
    """k, mu, b of least squares within bounds: the best of three descents, each from the best grid point for its k.

    If the rate 0 or 1 was not tried, the fit assumes the accuracy 0 or 1 there.
    """
    known = {0.0: 0.0, 1.0: 1.0} | dict(points)
    rate, accuracy = np.array(list(known)), np.array(list(known.values()))
    error = np.sum((curve(rate, *GRID.T[:, :, None]) - accuracy) ** 2, 1)
    starts = [GRID[GRID[:, 0] == k][np.argmin(error[GRID[:, 0] == k])] for k in np.unique(GRID[:, 0])]
    found = [_descend(rate, accuracy, start) for start in starts]
    k, mu, b = min(found, key=lambda value: np.sum((curve(rate, *value) - accuracy) ** 2))
    return float(k), float(mu), float(b)


def _descend(rate: np.ndarray, accuracy: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Damped Gauss-Newton steps (Levenberg, Marquardt), kept within the bounds."""
    damping = 1e-3
    for _ in range(100):
        k, mu, b = value
        rise = 1 / (1 + np.exp(-k * (rate + mu)))
        slope = (1 - b) * rise * (1 - rise)
        jacobian = np.stack([slope * (rate + mu), slope * k, 1 - rise], 1)
        error = curve(rate, *value) - accuracy
        gradient, square = jacobian.T @ error, jacobian.T @ jacobian
        # a parameter at its bound stays there if the gradient points outwards
        free = ~(((value <= LOWEST) & (gradient > 0)) | ((value >= HIGHEST) & (gradient < 0)))
        if not free.any():
            break
        inner, step = square[np.ix_(free, free)], np.zeros(3)
        step[free] = -np.linalg.solve(inner + max(damping, 1e-9) * np.diag(np.diag(inner) + 1e-6), gradient[free])
        tried = np.clip(value + step, LOWEST, HIGHEST)
        gain = np.sum(error**2) - np.sum((curve(rate, *tried) - accuracy) ** 2)
        value, damping = (tried, damping / 5) if gain > 0 else (value, damping * 5)
        if 0 <= gain < 1e-9 or damping > 1e6:
            break
    return value


def rate_for(points: Mapping[float, float], target: float, steps: int) -> float:
    """The rate at which the fitted curve reaches the target; at least 0, at most all steps but the last."""
    last = (steps - 1) / steps if steps else 0.0
    return float(np.clip(inverse(target, *_fit(tuple(points.items()))), 0.0, last))


@functools.lru_cache(maxsize=4096)
def _fit(points: tuple[tuple[float, float], ...]) -> tuple[float, float, float]:
    """The fit, cached: few rates and accuracies are possible, so that most problems of a step share their fits."""
    return fit(dict(points))


def points_of(episodes: Sequence[Episode]) -> dict[float, float]:
    """Mean accuracy for each share of steps with which answers to one problem began; each given step is a segment."""
    rights: dict[float, list[bool]] = {}
    for episode in episodes:
        if episode.verified:
            rights.setdefault(rate_of(episode.request), []).append(episode.right)
    return {rate: float(np.mean(seen)) for rate, seen in sorted(rights.items())}


def rate_of(request: Request) -> float:
    """The rate stored for a problem."""
    return len(request.prefix) / max(1, len(steps_of(request.problem)))


def keep_rate(memory: Memory, *, episodes: Sequence[Episode], target: float, place: str = STORE) -> Memory:
    """The memory with the new rate of each problem of the step."""
    store = memory.store(place)
    for group in by_group(episodes).values():
        problem = group.members[0].request.problem
        store[problem.id] = rate_for(points_of(group.members), target, len(steps_of(problem)))
    return memory.keep(place, store)


class KeepRate(Remembering):
    """Stores for each problem the rate that the step's answers predict, for its next visit (SEELE 2509.06923).

    remember=(KeepRate(target=0.5),)
    --mechanism.remember keep-rate --mechanism.remember.0.target 0.5
    """

    keeps = STORE

    target: Proportion = 0.5  # the pass rate that the next visit should have
    does = keep_rate
    needs_verdict = True
