"""RL-PLUS: a demonstration weighed against a mixture of behaviours."""

from __future__ import annotations

import math

import numpy as np
import pytest
from demonstrated import LOGP, learnt, mixed
from worked import register


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_rl_plus_by_hand() -> None:
    """r = 2 pi / (1.5 pi_old + 0.5) and A (1 - pi)^0.5 on external tokens; nothing moves at pi = 1."""
    found = learnt("rl-plus", mixed([0.0, 0.0, 0.0, 1.0]), LOGP)
    p, old = np.exp(LOGP[3]), math.exp(-1)
    expected = 0.75 * 2 * p / (1.5 * old + 0.5) * np.sqrt(1 - p) / 24
    np.testing.assert_allclose(found[3], -expected, rtol=1e-5)
    np.testing.assert_allclose(found[0], 0.25 * np.exp(np.array(LOGP[0]) + 1) / 24, rtol=1e-5)
