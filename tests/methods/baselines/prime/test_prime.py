"""PRIME: an implicit process model that learns online."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from partners import REWARDS, credited, small
from tiny import END, LETTERS, episode, group_of, models_for, policy, register, require_resumable

from assay.engine.interface import Span
from assay.errors import ConfigError
from assay.memory import Memory
from assay.methods.baselines.prime.credit import ProcessLeaveOneOut
from assay.methods.baselines.prime.implicit import ImplicitProcess, implicit_process, learn, scaled
from assay.types import Row


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


@pytest.mark.slow
def test_a_run_goes_on_bit_for_bit_with_its_process_model() -> None:
    require_resumable(small("prime"), lambda: policy("fp32", init_std=0.1), after=2)


def test_two_sources_with_a_baseline_each_by_hand() -> None:
    """Rewards 1, 0; token rewards 0.2, 0.4 | 0.1: means 0.3 and 0.1, r' = 2 r - 0.4; outcome +-1 at the end."""
    rows = group_of([1.0, 0.0], lengths=[2, 1])
    dense = [[0.2, 0.4], [0.1]]
    rows = [row.mark(process=np.array(d, np.float32)) for row, d in zip(rows, dense, strict=True)]
    found = credited(ProcessLeaveOneOut(outcome=5.0, process=3.0), rows)
    np.testing.assert_allclose(found[0], [3 * (0.0 + 0.4) + 5, 3 * 0.4 + 5], rtol=1e-6)
    np.testing.assert_allclose(found[1], [3 * -0.2 - 5], rtol=1e-6)


def test_groups_of_equal_rewards_keep_what_the_process_says() -> None:
    rows = [row.mark(process=np.array([0.1 * i, 0.0], np.float32)) for i, row in enumerate(group_of([1.0, 1.0]))]
    found = credited(ProcessLeaveOneOut(outcome=5.0, process=1.0), rows)
    np.testing.assert_allclose(found, [[-0.1, -0.05], [0.1, -0.05]], atol=1e-7)  # r' = 2 r - 0.05
    assert credited(ProcessLeaveOneOut(), group_of([1.0])) == [[0.0, 0.0]]
    assert credited(ProcessLeaveOneOut(), group_of([1.0, 0.0], lengths=[0, 1]))[0] == []


@given(rewards=REWARDS)
def test_without_a_process_it_is_leave_one_out(rewards: list[float]) -> None:
    count = len(rewards)
    expected = [2.0 * (r - (sum(rewards) - r) / (count - 1)) for r in rewards]
    found = credited(ProcessLeaveOneOut(outcome=2.0), group_of(list(rewards)))
    np.testing.assert_allclose([row[0] for row in found], expected, atol=1e-9)


def test_process_rewards_are_scaled_by_the_largest_return_and_end_with_nothing() -> None:
    """0.2, -0.6, (0.9) and (5): sums to come -0.4, -0.6, 0 and 0: divided by 0.6."""
    rows = [Row(episode([1, 2, END])), Row(episode([END], sample=1))]
    found = scaled([np.array([0.2, -0.6, 0.9]), np.array([5.0])], rows)
    np.testing.assert_allclose(found[0], [1 / 3, -1.0, 0.0], rtol=1e-5)
    assert found[1].tolist() == [0.0] and scaled([], []) == []


def process_values(**changes: object) -> dict[str, object]:
    return dataclasses.asdict(ImplicitProcess()) | {"micro_tokens": 99, **changes}


@pytest.mark.parametrize("first", [True, False])
def test_a_process_model_learns_before_it_speaks(first: bool) -> None:
    """Before it has learnt it is its reference, and says nothing; its reference never moves."""
    recipe = small("prime")
    spec = dataclasses.replace(recipe.models["process"], learns_first=first)
    recipe = dataclasses.replace(recipe, models={**recipe.models, "process": spec})
    engine = policy("fp32", init_std=0.1)
    models = models_for(recipe, engine)
    answers = [[1, 2, END], [2, 1, END], [1, 1, 1, END], [3, END]]
    rows = [Row(episode(a, sample=i, reward=float(i % 2))) for i, a in enumerate(answers)]
    found, stats = implicit_process(rows, models=models, memory=Memory(0), scale=recipe.scale, **process_values())  # type: ignore[arg-type]
    assert stats["process/loss"] == pytest.approx(math.log(2), rel=1e-5)
    assert models["process"].version == 1
    silent = all((row.process == 0).all() for row in found)  # type: ignore[union-attr]
    assert silent != first
    spans = [Span(r.episode.training_context, r.episode.stream("ids").astype(np.int32)) for r in rows]
    for mine, its in zip(engine.score(spans), models["process-reference"].score(spans), strict=True):
        np.testing.assert_array_equal(mine.logp, its.logp)
    with pytest.raises(ConfigError, match="the recipe has no model 'judge'"):
        implicit_process(rows, models=models, memory=Memory(0), scale=recipe.scale, **process_values(model="judge"))  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_process_model_finds_the_token_that_makes_an_answer_right() -> None:
    """Right is what has a b: after some steps the token rewards of b are the largest, and outcomes are told apart."""
    recipe = small("prime", learning_rate=0.01)
    models = models_for(recipe, policy("fp32", init_std=0.1))
    random = np.random.default_rng(0)
    answers = [[*random.integers(1, 5, 4).tolist(), END] for _ in range(64)]
    rows = [Row(episode(a, sample=i, reward=float(2 in a))) for i, a in enumerate(answers)]
    found, stats = rows, {"process/loss": math.inf}
    for step in range(40):
        memory = Memory(0, step=step)
        values = process_values(rate=1.0, beta=0.5)
        found, stats = implicit_process(rows, models=models, memory=memory, scale=recipe.scale, **values)  # type: ignore[arg-type]
    assert stats["process/loss"] < 0.3 and stats["process/accuracy"] > 0.9
    every = [(i, float(v)) for row in found for i, v in zip(row.episode.stream("ids"), row.process, strict=True)]  # type: ignore[arg-type]
    means = {letter: np.mean([v for i, v in every if i == 1 + n]) for n, letter in enumerate(LETTERS)}
    assert means["b"] > max(means["a"], means["c"], means["d"]) + 0.05


def test_micro_batches_do_not_change_what_a_process_model_learns() -> None:
    recipe = small("prime")
    rows = [Row(episode([1] * n + [END], sample=i, reward=float(i % 2))) for i, n in enumerate([1, 4, 2, 6, 0])]
    rows = [row.mark(ref=np.full(len(row.episode), -1.5, np.float32)) for row in rows]
    losses = []
    for tokens in (1, 9, 999):
        models = models_for(recipe, policy("fp64"))
        losses.append(learn(models, "process", rows, recipe.scale, Memory(0), tokens, beta=0.5))
    assert losses[0] == pytest.approx(losses[2], rel=1e-6) and losses[1] == pytest.approx(losses[2], rel=1e-6)
