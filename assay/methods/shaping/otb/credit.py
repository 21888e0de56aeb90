"""A baseline for each position of the answers of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from assay.curate.grouping import spread
from assay.errors import ConfigError
from assay.methods.shaping.otb.energy import ENERGY
from assay.part import Credit
from assay.types import Origin, Row, by_group

Tail = Literal["own", "zero", "last"]


def token_baseline(rows: Sequence[Row], *, tail: str, epsilon: float) -> list[Row]:
    """B_t = sum_i W_it R_i / (sum_i W_it + epsilon) over the answers that have a t-th own token; W_it is the sum of
    `energy` up to that token. A = 0 in a group of equal rewards, and for an answer that is alone in its group.
    """
    if tail not in ("own", "zero", "last"):
        raise ConfigError(f"credit.tail is 'own', 'zero' or 'last', not '{tail}'.")
    result = list(rows)
    for group in by_group(rows).values():
        rewards = np.array(group.rewards, dtype=np.float64)
        mine = [np.flatnonzero(row.episode.stream("origin") == Origin.POLICY) for row in group.members]
        baseline = np.zeros(0)
        if spread(rewards.tolist()):
            energy = [_energy(rows[i])[at] for i, at in zip(group.places, mine, strict=True)]
            baseline = _baseline(energy, rewards, tail, epsilon)
        for i, at, reward in zip(group.places, mine, rewards, strict=True):
            advantage = np.zeros(len(rows[i].episode))
            if len(baseline):
                advantage[at] = reward - baseline[: len(at)]
            result[i] = rows[i].mark(advantage=advantage)
    return result


class TokenBaseline(Credit):
    """A_t = R - B_t; the baseline B_t weighs the group's rewards by the gradient that each answer has accumulated up
    to its t-th token (optimal token baseline, 2602.07078).

    The part `token-energy` of `forwards` provides the weights.

        credit=TokenBaseline(tail="own")
        --mechanism.credit token-baseline --mechanism.credit.tail own
    """

    tail: Tail = "own"  # baseline where only the longest answer has tokens: by the formula, 0, or the last shared one
    epsilon: float = 1e-8
    reads = (ENERGY,)
    does = token_baseline
    compares = True


def _baseline(energy: Sequence[np.ndarray], rewards: np.ndarray, tail: str, epsilon: float) -> np.ndarray:
    lengths = sorted(len(e) for e in energy)
    weight, product = np.zeros((2, lengths[-1]))
    for e, reward in zip(energy, rewards, strict=True):
        weight[: len(e)] += np.cumsum(e)
        product[: len(e)] += reward * np.cumsum(e)
    baseline, shared = product / (weight + epsilon), lengths[-2]
    if tail != "own":
        baseline[shared:] = baseline[shared - 1] if tail == "last" and shared else 0.0
    return baseline


def _energy(row: Row) -> np.ndarray:
    if ENERGY not in row.constants:
        raise ConfigError(
            "credit token-baseline weighs rewards by the energy of tokens: put token-energy into `forwards`."
        )
    return np.asarray(row.constants[ENERGY], np.float64)
