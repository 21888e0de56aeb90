"""Pass@k as what is trained for: the advantages of sets of answers."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from credited_rows import SMALL, VERDICTS, credited
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import group_of, policy, recipe_of, register, require_resumable

from assay.errors import ConfigError
from assay.methods.shaping.passk.credit import PassK


def best_of_subsets(right: Sequence[bool], k: int, epsilon: float) -> list[float]:
    """Over all sets of k answers: the mean, over those with answer i, of (best - mean of best) / deviation of best."""
    sets = list(itertools.combinations(range(len(right)), k))
    best = [float(any(right[i] for i in chosen)) for chosen in sets]
    mean = sum(best) / len(best)
    deviation = math.sqrt(sum((b - mean) ** 2 for b in best) / len(best))
    value = [(b - mean) / (deviation + epsilon) for b in best]
    mine = [[v for v, chosen in zip(value, sets) if i in chosen] for i in range(len(right))]
    return [sum(values) / len(values) for values in mine]


@settings(max_examples=60, deadline=None)
@given(right=VERDICTS, data=st.data())
def test_the_analytic_advantage_is_the_mean_over_all_sets(right: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(right)))
    found = credited(PassK(k=k, epsilon=1e-6), group_of([float(r) for r in right]))
    np.testing.assert_allclose(found, best_of_subsets(right, k, 1e-6), rtol=1e-9, atol=1e-12)
    assert abs(sum(found)) < 1e-9


def test_pass_at_four_by_hand() -> None:
    """6 of 8 wrong, k = 4: R = 1 - 15/70 = 11/14, s = sqrt(33)/14; right 3/sqrt 33, wrong (3 - 14 * 10/35)/sqrt 33."""
    found = credited(PassK(k=4, epsilon=0.0), group_of([1, 1, 0, 0, 0, 0, 0, 0]))
    np.testing.assert_allclose(found, [3 / math.sqrt(33)] * 2 + [-1 / math.sqrt(33)] * 6, rtol=1e-12)
    solved = credited(PassK(k=4, epsilon=0.0), group_of([1, 1, 1, 1, 1, 0, 0, 0]))
    assert solved == [0.0] * 8  # any four hold a right one


def test_pass_at_one_is_group_relative() -> None:
    rewards = np.array([1.0, 0, 0, 1, 0])
    for kind in ("full", "analytic"):
        found = credited(PassK(k=1, kind=kind, epsilon=0.0), group_of(rewards.tolist()))  # type: ignore[arg-type]
        np.testing.assert_allclose(found, (rewards - 0.4) / math.sqrt(0.24), rtol=1e-12)


def test_full_sampling_by_hand() -> None:
    """Sets {1, 0}, {0, 0}, {0, 1} and a row left over: best 1, 0, 1 with mean 2/3 and deviation sqrt 2 / 3."""
    found = credited(PassK(k=2, kind="full", epsilon=0.0), group_of([1, 0, 0, 0, 0, 1, 1]))
    up, down = 1 / math.sqrt(2), -math.sqrt(2)
    np.testing.assert_allclose(found, [up, up, down, down, up, up, 0.0], rtol=1e-12)
    soft = credited(PassK(k=2, kind="full", epsilon=0.5), group_of([1, 0, 0, 0, 0, 1, 1]))
    up = 1 / 3 / (math.sqrt(2) / 3 + 0.5)
    np.testing.assert_allclose(soft, [up, up, -2 * up, -2 * up, up, up, 0.0], rtol=1e-12)


@pytest.mark.slow
def test_drawn_sets_come_to_about_k_times_the_analytic_value() -> None:
    """Each answer is in k of N sets on average; the mean over groups of 40 and over the answers of a kind."""
    right, k, draws = np.arange(40) < 8, 3, 100
    rows = [row for g in range(draws) for row in group_of(right.astype(float).tolist(), name=str(g))]
    part = PassK(k=k, kind="bootstrap", epsilon=0.0)
    found = np.array(credited(part, rows)).reshape(draws, -1)
    assert abs(found.sum(1)).max() < 1e-9  # the values of the sets add up to 0
    r = 1 - math.comb(32, 3) / math.comb(40, 3)
    up = k * (1 - r) / math.sqrt(r * (1 - r))
    assert found[:, right].mean() == pytest.approx(up, rel=0.05)
    assert found[:, ~right].mean() == pytest.approx(-8 / 32 * up, rel=0.05)
    assert credited(part, rows) == found.ravel().tolist()


@settings(max_examples=40, deadline=None)
@given(right=VERDICTS, seed=st.integers(0, 9), kind=st.sampled_from(["full", "bootstrap", "analytic"]))
def test_pass_k_is_finite_and_zero_where_nothing_differs(right: list[bool], seed: int, kind: str) -> None:
    found = credited(PassK(k=2, kind=kind), group_of([float(r) for r in right], name=str(seed)))  # type: ignore[arg-type]
    assert np.isfinite(found).all()
    if len(set(right)) == 1:
        assert found == [0.0] * len(right)


def test_more_answers_than_a_group_has_are_refused_and_a_shrunken_group_is_one_set() -> None:
    recipe = recipe_of("grpo", group_size=8)
    asked = {"scale": recipe.scale, "mechanism": recipe.mechanism}
    assert PassK(k=8).refusal(**asked) is None
    assert "9 answers cannot be drawn from 8" in str(PassK(k=9).refusal(**asked))
    with pytest.raises(ConfigError, match="half"):
        credited(PassK(k=1, kind="half"), group_of([1, 0]))  # type: ignore[arg-type]
    assert credited(PassK(k=4), group_of([1, 0])) == [0.0, 0.0]


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_drawn_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    recipe = recipe_of("passk", **SMALL)
    mechanism = dataclasses.replace(recipe.mechanism, credit=PassK(2, "bootstrap"))
    whole = dataclasses.replace(recipe, mechanism=mechanism)
    require_resumable(whole, lambda: policy("fp32", vocab=4, init_std=0.1), after=2)
