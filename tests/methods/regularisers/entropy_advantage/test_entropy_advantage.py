"""Advantages that grow where the policy hesitates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import episode, group_of, register, segment

from assay.methods.regularisers.entropy_advantage.hesitant import hesitant
from assay.types import Origin, Row


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 4), min_size=1, max_size=5), st.floats(-3, 3))
def test_hesitant_tokens_gain_and_none_changes_its_sign(entropy: list[float], advantage: float) -> None:
    pieces = [segment([1] * len(entropy), entropy=np.array(entropy, np.float32)), segment([1], origin=Origin.INJECTED)]
    row = Row(episode(pieces)).mark(advantage=np.full(len(entropy) + 1, advantage))
    (found,) = hesitant([row], share=0.4, kappa=2.0)
    assert found.advantage is not None
    expected = [advantage + min(0.4 * h, abs(advantage) / 2) for h in entropy]
    np.testing.assert_allclose(found.advantage, [*expected, advantage], rtol=1e-6, atol=1e-6)
    assert (np.sign(found.advantage) == np.sign(advantage)).all()
    assert group_of and hesitant(group_of([1.0]), share=0.4, kappa=2.0)[0].advantage is not None
