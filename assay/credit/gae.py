"""Generalised advantage estimation (GAE) over the tokens that the policy wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from assay.curate.turns import own_turns
from assay.errors import ConfigError
from assay.part import Credit, Proportion
from assay.types import Origin, Row

Truncated = Literal["end", "bootstrap"]
Per = Literal["token", "turn"]


def gae(
    rows: Sequence[Row], *, gamma: float, lam: float, truncated: Truncated = "end", per: Per = "token"
) -> list[Row]:
    """Rows with advantages A and the return targets A + V of the critic.

    Only tokens of the policy are steps: V_{t+1} is the value before the policy's next token, on the other side of a
    reply if one stands between the two. A reply has neither advantage nor target, and nothing is discounted over it.
    After the last token V is 0, or, where a limit cut the answer off and `truncated` is bootstrap, the critic's value
    behind the answer. The reward of a row is given at its last token; rewards of tokens and steps (`process`) at their
    own. Without a critic V = 0; kappa is the stream `continues`, 1 where no part and no world says less. `per` turn:
    gamma and lambda count where a turn ends, and are 1 within it.
    """
    return [estimated(row, gamma, lam, truncated, per) for row in rows]


class GAE(Credit):
    """A_t = sum_l (prod_{j < l} lam gamma_{t+j}) d_{t+l}, d_t = r_t + gamma_t V_{t+1} - V_t and gamma_t = gamma kappa_t
    (1506.02438). Steps are the policy's own tokens: the recursion jumps over the replies of a world.

    credit=GAE(gamma=1.0, lam=0.95)
    --mechanism.credit gae --mechanism.credit.lam 0.95
    """

    gamma: Proportion = 1.0  # discount
    lam: Proportion = 0.95  # lambda: 1 takes whole returns, 0 only the next value
    truncated: Truncated = "end"  # a limit cut it off: the end, worth 0 beyond; bootstrap: worth what the critic says
    per: Per = "token"  # gamma and lambda count at each token, or only from turn to turn of an answer in a world
    does = gae
    reads = ("group",)


def estimated(row: Row, gamma: float, lam: float, truncated: Truncated = "end", per: Per = "token") -> Row:
    """The row with advantages and return targets."""
    mine = np.flatnonzero(row.episode.stream("origin") == Origin.POLICY)
    value = np.zeros(len(mine)) if row.value is None else np.asarray(row.value, np.float64)[mine]
    reward = np.zeros(len(mine)) if row.process is None else np.asarray(row.process, np.float64)[mine]
    continues = None if row.continues is None else np.asarray(row.continues, np.float64)[mine]
    if len(mine):
        reward[-1] += row.reward or 0.0
    after = _beyond(row) if truncated == "bootstrap" else 0.0
    ends = _turn_ends(row, mine) if per == "turn" else None
    advantage = estimate(reward, value, gamma=gamma, lam=lam, continues=continues, after=after, ends=ends)
    streams = {"advantage": np.zeros(len(row.episode)), "target": np.zeros(len(row.episode), np.float32)}
    streams["advantage"][mine], streams["target"][mine] = advantage, advantage + value
    return row.mark(**streams)


def _turn_ends(row: Row, mine: np.ndarray) -> np.ndarray:
    """Which of these tokens, the policy's, is the last one of a turn."""
    behind = np.searchsorted(mine, [turn.stop for turn in own_turns(row.episode)])
    ends = np.zeros(len(mine), bool)
    ends[behind[behind > 0] - 1] = True
    return ends


def _beyond(row: Row) -> float:
    """What is still to come behind the answer, by the critic: nothing where it reached its true end, or without one."""
    if row.episode.finish != "length" or row.value is None:
        return 0.0
    if row.bootstrap is None:
        raise ConfigError(
            f"the answer to request {row.episode.request.id} was cut off by a limit, and nobody said what the state "
            "behind it is worth: `gae` of `credit` asks for that with truncated = bootstrap. Give `critic` of "
            "`forwards` the same value; a world says what was observed at a limit in the segment's `after`."
        )
    return row.bootstrap


def estimate(
    reward: np.ndarray,
    value: np.ndarray,
    *,
    gamma: float,
    lam: float,
    continues: np.ndarray | None = None,
    after: float = 0.0,
    ends: np.ndarray | None = None,
) -> np.ndarray:
    """A_t of GAE for the tokens of one answer, computed from the last token backwards; `after` is V behind it. `ends`:
    the tokens at which gamma and lambda count; None: at all.
    """
    far = np.full(len(value), gamma) if ends is None else np.where(ends, gamma, 1.0)
    back = np.full(len(value), lam) if ends is None else np.where(ends, lam, 1.0)
    discount = far if continues is None else far * continues
    following = np.append(value[1:], after)[: len(value)]
    errors = (reward + discount * following - value).tolist()
    decays = (discount * back).tolist()
    total, result = 0.0, np.zeros(len(value))
    for t in range(len(value) - 1, -1, -1):
        result[t] = total = errors[t] + decays[t] * total
    return result
