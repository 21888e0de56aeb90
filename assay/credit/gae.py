"""Generalised advantage estimation (GAE) over the tokens that the policy wrote."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Credit, Proportion
from assay.types import Origin, Row


def gae(rows: Sequence[Row], *, gamma: float, lam: float) -> list[Row]:
    """Rows with advantages A and the return targets A + V of the critic.

    Only tokens of the policy are steps: V_{t+1} is the value before the policy's next token, and 0 after its last one.
    The reward of a row is given at its last token; per-token rewards (`process`) at their own tokens. Without a critic
    V = 0.
    """
    return [estimated(row, gamma, lam) for row in rows]


class GAE(Credit):
    """A_t = sum_l (gamma lam)^l d_{t+l}, d_t = r_t + gamma V_{t+1} - V_t (1506.02438).

    credit=GAE(gamma=1.0, lam=0.95)
    --mechanism.credit gae --mechanism.credit.lam 0.95
    """

    gamma: Proportion = 1.0  # discount
    lam: Proportion = 0.95  # lambda: 1 takes whole returns, 0 only the next value
    does = gae
    reads = ("group",)


def estimated(row: Row, gamma: float, lam: float) -> Row:
    """The row with advantages and return targets."""
    mine = np.flatnonzero(row.episode.stream("origin") == Origin.POLICY)
    value = np.zeros(len(mine)) if row.value is None else np.asarray(row.value, np.float64)[mine]
    reward = np.zeros(len(mine)) if row.process is None else np.asarray(row.process, np.float64)[mine]
    if len(mine):
        reward[-1] += row.reward or 0.0
    advantage = estimate(reward, value, gamma=gamma, lam=lam)
    streams = {"advantage": np.zeros(len(row.episode)), "target": np.zeros(len(row.episode), np.float32)}
    streams["advantage"][mine], streams["target"][mine] = advantage, advantage + value
    return row.mark(**streams)


def estimate(reward: np.ndarray, value: np.ndarray, *, gamma: float, lam: float) -> np.ndarray:
    """A_t of GAE for the tokens of one answer, computed from the last token backwards."""
    following = np.append(value[1:], 0.0)[: len(value)]
    error, total, result = reward + gamma * following - value, 0.0, np.zeros(len(value))
    for t in range(len(value) - 1, -1, -1):
        result[t] = total = error[t] + gamma * lam * total
    return result
