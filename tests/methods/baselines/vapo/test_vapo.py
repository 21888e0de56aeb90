"""VAPO: a lambda that follows the length, and a critic that learns first."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from partners import credited, small
from tiny import episode, policy, register, require_resumable, run

from assay.credit import GAE
from assay.known import RECIPES
from assay.methods.baselines.vapo.credit import LengthAdaptiveGAE
from assay.recipe import at_profile
from assay.types import Row


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_lambda_follows_the_length_of_an_answer() -> None:
    """alpha 0.5: of 4 tokens lambda = 1/2, of 8 it is 3/4, of 2 and fewer 0."""
    for length, lam in ((1, 0.0), (2, 0.0), (4, 0.5), (8, 0.75)):
        row = Row(episode([1] * length, reward=1.0)).mark(value=np.linspace(0, 1, length, dtype=np.float32))
        assert credited(LengthAdaptiveGAE(alpha=0.5), [row]) == credited(GAE(lam=lam), [row])


@given(st.integers(1, 60), st.floats(0.02, 5.0))
def test_what_reaches_the_policy_sums_to_alpha_times_the_length(length: int, alpha: float) -> None:
    """With errors of 1 everywhere an endless sum is 1 / (1 - lambda) = alpha T, or 1 where that is less."""
    rows = [Row(episode([1] * length, reward=1.0))]
    (found,) = credited(LengthAdaptiveGAE(alpha=alpha), rows)
    lam = 1 - 1 / max(1.0, alpha * length)
    np.testing.assert_allclose(found, [lam ** (length - 1 - t) for t in range(length)], rtol=1e-9, atol=1e-12)


def test_the_reach_of_a_reward_is_kept_where_answers_are_short() -> None:
    found, lines = at_profile(RECIPES["vapo"], "laptop", max_new=32)
    assert found.mechanism.credit == LengthAdaptiveGAE(alpha=32.0)  # 0.05 * 20480 / 32
    assert "LengthAdaptiveGAE.alpha: 0.05 -> 32.0 (in inverse proportion to max_new)" in lines
    again, more = at_profile(found, "paper", max_new=32)
    assert again == found and more == []


@pytest.mark.slow
def test_values_are_learnt_before_the_policy_moves() -> None:
    recipe = small("vapo", num_steps=8)
    first, second = recipe.stages
    recipe = dataclasses.replace(recipe, stages=tuple(dataclasses.replace(s, share=0.5) for s in (first, second)))
    engine = policy("fp32", init_std=0.1)
    notes, memory = run(recipe, engine)
    assert memory.stage == 1
    assert [s.get("update/steps", 0.0) > 0 for s in notes.stats] == [False] * 4 + [True] * 4
    assert any(s["critic/loss"] > 0 for s in notes.stats[:4])
    assert any(s.get("policy/likelihood_loss", 0.0) > 0 for s in notes.stats[4:])


@pytest.mark.slow
def test_a_run_goes_on_bit_for_bit_with_its_critic() -> None:
    require_resumable(small("vapo"), lambda: policy("fp32", init_std=0.1), after=2)
