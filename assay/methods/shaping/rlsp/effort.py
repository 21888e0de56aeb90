"""A reward for long answers, paid whether they are right or wrong, that dies out with the length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Positive, Rewarding, scales_with
from assay.types import Episode, Origin, Reward


def effort(episodes: Sequence[Episode], *, cost: float, least: float) -> list[Reward | None]:
    """r = max(least, -C / L); L is the number of tokens that the policy wrote, at least 1."""
    lengths = [max(1, int(np.count_nonzero(e.stream("origin") == Origin.POLICY))) for e in episodes]
    return [Reward("effort", max(least, -cost / length)) for length in lengths]


class Effort(Rewarding):
    """An answer of L tokens loses C / L, right or wrong: the exploration reward of RLSP (2502.06773).

    Twice the length gains C / 2L, so that a longer answer is worth ever less.
    """

    cost: Positive = scales_with("max_new", 1000.0, at=4096)  # C, in tokens
    least: float = -10.0  # the lowest reward
    does = effort
    writes = ("penalty",)
