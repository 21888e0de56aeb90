"""Generalised advantage estimation (GAE) whose lambda grows with the length of the answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.credit.gae import estimated
from assay.part import Credit, Proportion, scales_with
from assay.types import Origin, Row


def length_adaptive_gae(rows: Sequence[Row], *, gamma: float, alpha: float) -> list[Row]:
    """GAE; T counts the tokens that the policy wrote, and lam is 0 if alpha T <= 1."""
    lengths = [np.count_nonzero(row.episode.stream("origin") == Origin.POLICY) for row in rows]
    lams = [max(0.0, 1 - 1 / (alpha * max(1, length))) for length in lengths]
    return [estimated(row, gamma, lam) for row, lam in zip(rows, lams, strict=True)]


class LengthAdaptiveGAE(Credit):
    """GAE with a lambda for each answer: lam = 1 - 1 / (alpha T), so that sum_t lam^t ~ alpha T (VAPO 2504.05118).

    alpha T is the number of tokens that a reward reaches back; scaling keeps it where answers are shorter.

        credit=LengthAdaptiveGAE(alpha=0.05)
        --mechanism.credit length-adaptive-gae --mechanism.credit.alpha 0.05
    """

    gamma: Proportion = 1.0  # discount of later rewards
    alpha: float = scales_with("max_new", 0.05, at=20480, inverse=True)
    does = length_adaptive_gae
    reads = ("group",)
