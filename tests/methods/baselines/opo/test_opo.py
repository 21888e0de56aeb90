"""OPO: the baseline weighed by length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from partners import REWARDS, credited
from tiny import END, episode, group_of, register, segment

from assay.methods.baselines.opo.credit import LengthWeighted
from assay.types import Origin, Row


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_the_baseline_weighed_by_length_by_hand() -> None:
    """Rewards 1, 0, 0 of lengths 1, 2, 5: b = 1/8. A token of somebody else is no length."""
    rows = group_of([1.0, 0.0, 0.0], lengths=[1, 2, 5])
    assert credited(LengthWeighted(), rows) == [[7 / 8], [-1 / 8] * 2, [-1 / 8] * 5]
    tools = Row(episode([segment([1]), segment([2] * 9, origin=Origin.ENV), segment([END])], sample=1, reward=0.0))
    found = credited(LengthWeighted(), [rows[0], tools])
    assert found[0] == [pytest.approx(2 / 3)] and found[1][0] == pytest.approx(-1 / 3)
    empty = [Row(episode([], sample=i, reward=float(i))) for i in range(2)]
    assert credited(LengthWeighted(), empty) == [[], []]
    assert credited(LengthWeighted(), group_of([1.0] * 3)) == [[0.0] * 2] * 3


@given(rewards=REWARDS, seed=st.integers(0, 99), shift=st.integers(-4, 4))
@pytest.mark.slow
def test_what_is_pushed_up_and_down_balances_over_tokens(rewards: list[float], seed: int, shift: int) -> None:
    """sum_i T_i A_i = 0; a constant changes nothing; equal lengths give the group's mean."""
    lengths = np.random.default_rng(seed).integers(1, 9, len(rewards)).tolist()
    found = [a for row in credited(LengthWeighted(), group_of(list(rewards), lengths=lengths)) for a in row]
    assert sum(found) == pytest.approx(0.0, abs=1e-9)
    moved = credited(LengthWeighted(), group_of([r + shift for r in rewards], lengths=lengths))
    np.testing.assert_allclose([a for row in moved for a in row], found, atol=1e-9)
    level = credited(LengthWeighted(), group_of(list(rewards)))
    np.testing.assert_allclose([row[0] for row in level], np.array(rewards) - np.mean(rewards), atol=1e-9)
