"""The reward of a set of answers is that of its best; the advantage of an answer is its share in that reward."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.errors import ConfigError
from assay.memory import Memory
from assay.part import Count, Credit, scales_with
from assay.types import Row, by_group

if TYPE_CHECKING:
    from assay.recipe import Mechanism
    from assay.scale import Scale

Kind = Literal["full", "bootstrap", "analytic"]


def pass_k(rows: Sequence[Row], *, memory: Memory, k: int, kind: str, epsilon: float) -> list[Row]:
    """With n of N wrong: R = 1 - C(n, k) / C(N, k), s = sqrt(R (1 - R)); A of a right answer is (1 - R) / s, of a
    wrong one (1 - R - C(n - 1, k - 1) / C(N - 1, k - 1)) / s. If errors of ours leave a group with fewer than k
    answers, they are one set.
    """
    if kind not in ("full", "bootstrap", "analytic"):
        raise ConfigError(f"credit.kind is 'full', 'bootstrap' or 'analytic', not '{kind}'.")
    result = list(rows)
    for name, group in by_group(rows).items():
        right = np.array([row.right for row in group.members])
        if right.all() or not right.any():
            advantage = np.zeros(len(right))
        elif kind == "analytic":
            advantage = _analytic(right, min(k, len(right)), epsilon)
        else:
            draw = memory.key("pass-k", memory.step, name).generator().permutation
            advantage = _sampled(right, _sets(len(right), min(k, len(right)), kind, draw), epsilon)
        for i, a in zip(group.places, advantage, strict=True):
            result[i] = rows[i].mark(advantage=np.full(len(rows[i].episode), a))
    return result


class PassK(Credit):
    """Advantages for pass@k, the probability that one of k answers is right (2508.10751).

    The verdict says whether an answer is right. A set of k answers has the reward 1 if one of them is right; these
    rewards are normalised by their mean and population standard deviation. The advantage of an answer is that of its
    own set (full), the sum over the drawn sets that contain it (bootstrap), or the mean over all such sets (analytic).

        credit=PassK(k=8)
        --mechanism.credit pass-k --mechanism.credit.k 8
    """

    k: Count = scales_with("group_size", 8, at=32)
    kind: Kind = "analytic"  # which sets of k answers: disjoint sets, random sets, or all sets
    epsilon: float = 1e-6  # added to the standard deviation
    does = pass_k
    needs_verdict = True
    compares = True

    def refusal(self, *, scale: Scale, mechanism: Mechanism) -> str | None:
        if self.k <= scale.group_size:
            return None
        return (
            f"credit.k = {self.k} answers cannot be drawn from {scale.group_size}. Set scale.group_size to k or more, "
            "or credit.k to less."
        )


def _analytic(right: np.ndarray, k: int, epsilon: float) -> np.ndarray:
    count, wrong = len(right), int(np.count_nonzero(~right))
    if wrong < k:
        return np.zeros(count)
    failed = math.comb(wrong, k) / math.comb(count, k)
    deviation = math.sqrt(failed * (1 - failed)) + epsilon
    without = math.comb(wrong - 1, k - 1) / math.comb(count - 1, k - 1)
    return np.where(right, failed, failed - without) / deviation


def _sets(count: int, k: int, kind: str, permutation: Callable[[int], np.ndarray]) -> list[np.ndarray]:
    """Disjoint sets of k answers in order, without the answers left over at the end; or `count` random sets of k."""
    if kind == "full":
        return [np.arange(first, first + k) for first in range(0, count - k + 1, k)]
    return [permutation(count)[:k] for _ in range(count)]


def _sampled(right: np.ndarray, sets: Sequence[np.ndarray], epsilon: float) -> np.ndarray:
    best = np.array([float(right[chosen].any()) for chosen in sets])
    value = (best - best.mean()) / (best.std() + epsilon)
    advantage = np.zeros(len(right))
    for chosen, a in zip(sets, value, strict=True):
        advantage[chosen] += a
    return advantage
