"""SRFT: demonstrations weighed by the entropy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from demonstrated import LOGP, entropy_slopes, learnt, mixed
from worked import register

from assay.lab.explain import ENTROPY, on_policy
from assay.methods.demonstrations.srft.gate import ByEntropy
from assay.objective import NoRatio, Objective


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_srft_by_hand() -> None:
    """Own answers: -0.1 exp(h) right, +1 wrong. The demonstration: its standardised advantage, shaped, and likelihood
    with 0.5 exp(-h). Entropies: rows' means are 1, 2, 0 and 1.
    """
    entropy = [[0.5, 1.5], [2.0, 2.0], [0.0, 0.0], [0.0, 1.0, 2.0]]
    found = learnt("srft", mixed([0.0, 1.0, 0.0, 1.0]), LOGP, entropy)
    np.testing.assert_allclose(found[0], 1 / 24, rtol=1e-6)
    np.testing.assert_allclose(found[1], -0.1 * math.exp(2) / 24, rtol=1e-5)
    np.testing.assert_allclose(found[2], 1 / 24, rtol=1e-6)
    p, a = np.exp(LOGP[3]), 0.5 / (math.sqrt(1 / 3) + 1e-6)
    expected = a * 0.1 * p / (p + 0.1) ** 2 + 0.5 * math.exp(-1)
    np.testing.assert_allclose(found[3], -expected / 24, rtol=1e-5)


def test_srft_has_the_entropy_bonus_of_the_code_that_it_is_built_on() -> None:
    """- 0.001 / N for each of the 9 tokens that train; the entropies that weigh the other terms have no slope."""
    _, slopes = entropy_slopes("srft", mixed([0.0, 1.0, 0.0, 1.0]))
    np.testing.assert_allclose(slopes, [-0.001 / 9] * 9, rtol=1e-12)


def test_the_push_by_entropy_depends_on_it() -> None:
    found = on_policy(Objective(ratio=NoRatio(), gate=ByEntropy(weight=0.1)))
    assert found == {"right": round(0.1 * math.e, 6), "wrong": 1, "depends": [ENTROPY]}
