"""Optimal baselines by token."""

from __future__ import annotations

import numpy as np
import pytest
from credited_rows import SMALL
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import END, episode, group_of, models_of, policy, recipe_of, register, require_resumable, segment

from assay.engine.interface import Span
from assay.errors import ConfigError
from assay.methods.shaping.otb.credit import TokenBaseline
from assay.methods.shaping.otb.energy import ENERGY, token_energy
from assay.part import bind
from assay.types import Origin, Row


def test_baselines_by_position_by_hand() -> None:
    """Energies 1, 1, 1 and 3, 1 with rewards 1 and 0: B_1 = 1/(1+3), B_2 = 2/(2+4), B_3 of the longer one alone = 1."""
    rows = [
        row.mark(constants={ENERGY: e})
        for row, e in zip(group_of([1, 0], lengths=[3, 2]), [np.ones(3), np.array([3.0, 1.0])])
    ]
    expected = {"own": 1.0, "zero": 0.0, "last": 1 / 3}
    for tail, last in expected.items():
        found = bind(TokenBaseline(tail=tail, epsilon=0.0))(rows)  # type: ignore[arg-type]
        np.testing.assert_allclose(found[0].advantage, [3 / 4, 2 / 3, 1 - last])
        np.testing.assert_allclose(found[1].advantage, [-1 / 4, -1 / 3])
    with pytest.raises(ConfigError, match="first"):
        bind(TokenBaseline(tail="first"))(rows)  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 4)), min_size=2, max_size=6), st.integers(0, 9)
)
def test_baselines_by_position_against_plain_sums(spec: list[tuple[float, int]], seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = group_of([r for r, _ in spec], lengths=[n for _, n in spec])
    rows = [row.mark(constants={ENERGY: random.uniform(0.1, 1.5, len(row.episode)).astype(np.float32)}) for row in rows]
    found = bind(TokenBaseline(epsilon=1e-8))(rows)
    for i, (reward, length) in enumerate(spec):
        for t in range(length):
            reach = [j for j, (_, n) in enumerate(spec) if n > t]
            weight = {j: float(sum(map(float, rows[j].constants[ENERGY][: t + 1]))) for j in reach}
            base = sum(weight[j] * spec[j][0] for j in reach) / (sum(weight.values()) + 1e-8)
            alike = len({r for r, _ in spec}) == 1
            assert found[i].advantage[t] == pytest.approx(0.0 if alike else reward - base, abs=1e-9)  # type: ignore[index]


def test_equal_energies_are_the_mean_of_those_that_reach_so_far_and_tools_are_passed_over() -> None:
    reply = segment([2, 2], origin=Origin.ENV)
    tools = Row(episode([segment([1]), reply, segment([1])], reward=1.0), constants={ENERGY: np.ones(4)})
    plain = Row(episode([1, 1, END], sample=1, reward=0.0), constants={ENERGY: np.ones(3)})
    found = bind(TokenBaseline(epsilon=0.0))([tools, plain])
    np.testing.assert_allclose(found[0].advantage, [0.5, 0, 0, 0.5])
    np.testing.assert_allclose(found[1].advantage, [-0.5, -0.5, 0.0])
    with pytest.raises(ConfigError, match="token-energy"):
        bind(TokenBaseline())(group_of([1, 0]) and [Row(r.episode) for r in group_of([1, 0])])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.5])
def test_energy_is_the_squared_norm_of_the_gradient_by_the_logits(temperature: float) -> None:
    """|onehot - p|^2 of the whole distribution, from log-probs of the token at two temperatures."""
    engine = policy("fp64")
    answer = episode([segment([1, 3, 0])], temperature=temperature, prompt="ab", reward=0.0)
    (row,), stats = token_energy([Row(answer)], models=models_of(engine))
    ids, expected = answer.stream("ids").astype(np.int32), []
    for t in range(3):
        tried = [np.append(ids[:t], np.int32(v)).astype(np.int32) for v in range(5)]
        scores = engine.score([Span(answer.request.context, one, temperature) for one in tried])
        p = np.exp([s.logp[t] for s in scores])
        assert p.sum() == pytest.approx(1.0)
        expected.append(((np.arange(5) == ids[t]) - p) @ ((np.arange(5) == ids[t]) - p))
    np.testing.assert_allclose(row.constants[ENERGY], expected, rtol=1e-5)
    assert stats["policy/energy"] == pytest.approx(np.mean(expected))


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_baselines_by_token(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    require_resumable(recipe_of("otb", **SMALL), lambda: policy("fp32", vocab=4, init_std=0.1), after=2)
