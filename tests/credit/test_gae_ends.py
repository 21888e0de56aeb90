"""Ends are no truncations: what credit counts beyond the last step, and how much of the future counts at each step."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import model_of
from hypothesis import given
from hypothesis import strategies as st
from partners import credited
from tiny import END, Letters, episode, segment

from assay.credit import GAE, pack
from assay.credit.gae import estimate
from assay.engine.interface import Span, Want
from assay.engine.spans import laid, longer, span_of
from assay.engine.torch.value_engine import ValueEngine
from assay.errors import ConfigError
from assay.forwards.critic import values_of
from assay.streams import streams_of
from assay.types import Origin, Reward, Row, Segment

NUMBER = st.integers(-8, 8).map(lambda n: n / 4)
SHARE = st.integers(0, 4).map(lambda n: n / 4)


def steps(count: int, **given_: Any) -> Segment:
    """So many steps in a world of two numbers."""
    shown = np.arange(2 * count, dtype=np.float32).reshape(count, 2)
    return segment([1] * count, **{"seen": shown, **given_})


def row_of(finish: str, *, bootstrap: float | None = None, **streams: Any) -> Row:
    found = episode([steps(2)], finish=finish, rewards=(Reward("turns", 3.0, "turn", np.array([1.0, 2.0])),))
    return Row.of(found).mark(value=np.array([0.5, 0.25], np.float32), bootstrap=bootstrap, **streams)


def test_an_end_is_worth_nothing_beyond_and_a_truncation_what_the_critic_says() -> None:
    """Rewards 1, 2; V = 1/2, 1/4; gamma = lambda = 1/2. The last error is 2 + V/2 - 1/4 with V = 0 or 4 beyond; the
    first is 1 + 1/8 - 1/2 = 5/8, to which a quarter of the last is added.
    """
    part = GAE(gamma=0.5, lam=0.5, truncated="bootstrap")
    assert credited(part, [row_of("stop")]) == [[0.625 + 1.75 / 4, 1.75]]
    assert credited(part, [row_of("length", bootstrap=4.0)]) == [[0.625 + 3.75 / 4, 3.75]]


def test_a_language_recipe_takes_a_truncation_for_an_end() -> None:
    cut = row_of("length", bootstrap=4.0)
    assert credited(GAE(gamma=0.5, lam=0.5), [cut]) == credited(GAE(gamma=0.5, lam=0.5), [row_of("stop")])


def test_kappa_takes_its_share_of_what_follows() -> None:
    """kappa = 1/2, 0: the second step has no future, whatever is beyond; the first half of what it had."""
    cut = row_of("length", bootstrap=4.0, continues=np.array([0.5, 0.0], np.float32))
    last, first = 2 - 0.25, 1 + 0.5 * 0.5 * 0.25 - 0.5
    assert credited(GAE(gamma=0.5, lam=0.5, truncated="bootstrap"), [cut]) == [[first + 0.5 * 0.5 * 0.5 * last, last]]


@given(st.lists(st.tuples(NUMBER, NUMBER, SHARE), min_size=1, max_size=6), NUMBER, SHARE, SHARE)
def test_advantages_are_the_sum_that_the_formula_says(
    each: list[tuple[float, float, float]], after: float, gamma: float, lam: float
) -> None:
    reward, value, kappa = map(list, zip(*each, strict=True))
    follows = [*value[1:], after]
    errors = [r + gamma * k * v - u for r, k, v, u in zip(reward, kappa, follows, value, strict=True)]
    expected = [
        sum(error * np.prod([gamma * lam * k for k in kappa[t : t + ahead]]) for ahead, error in enumerate(errors[t:]))
        for t in range(len(errors))
    ]
    numbers = np.array(reward), np.array(value)
    found = estimate(*numbers, gamma=gamma, lam=lam, continues=np.array(kappa), after=after)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_truncation_that_nobody_valued_is_an_error_and_names_what_to_set() -> None:
    with pytest.raises(ConfigError, match="`critic` of `forwards` the same value"):
        credited(GAE(truncated="bootstrap"), [row_of("length")])
    without = row_of("length").mark(value=None)
    assert credited(GAE(lam=1.0, truncated="bootstrap"), [without]) == [[3.0, 2.0]]  # no critic: nothing is known


# What the critic says of the state behind the last token


def test_the_critic_values_the_state_behind_an_answer_that_was_cut() -> None:
    """It is the value before the next token, whatever that is, and the other values are what they were."""
    engine = ValueEngine(model_of("qwen2"), end_ids=frozenset({0}), precision="fp32")
    with torch.no_grad():
        engine.model.value_head.weight.copy_(torch.linspace(-1.0, 1.0, engine.model.config.hidden)[None])
    rows = [Row(episode([1, 2], finish="length")), Row(episode([1, 2, END], sample=1))]
    plain = values_of(engine, rows, tokens=64)
    cut, whole = values_of(engine, rows, tokens=64, beyond=True)
    assert cut.value is not None and whole.value is not None and plain[1].value is not None
    assert [row.bootstrap for row in plain] == [None, None] and whole.bootstrap is None
    context = rows[0].episode.training_context
    for following in (0, 3):
        (chunk,) = engine.chunks(laid([Span(context, np.array([1, 2, following], np.int32))]), tokens=64)
        values = engine.forward(chunk, Want(value=True)).value
        assert values is not None
        *expected, beyond = values.detach().tolist()
        np.testing.assert_allclose(cut.value, expected, rtol=1e-5)
        assert cut.bootstrap == pytest.approx(beyond, rel=1e-5)
    np.testing.assert_allclose(whole.value, plain[1].value, rtol=1e-5)
    assert cut.bootstrap != 0.0 and len(cut.value) == 2


# What a world says of its steps


def test_rewards_of_turns_reach_the_row_beside_those_of_the_answer() -> None:
    turns = Reward("turns", 4.0, "turn", np.array([1.0, 3.0]), np.array([0, 1]))
    world = episode([steps(2)], reward=0.5)
    row = Row.of(dataclasses.replace(world, rewards=(*world.rewards, turns)))
    assert row.process is not None and row.process.tolist() == [1.0, 3.0] and row.reward == 0.5
    assert Row.of(world).process is None


def test_what_was_seen_and_done_goes_into_the_batch() -> None:
    cost = np.array([[1.0, 0.0], [0.0, 2.0]], np.float32)
    first = steps(2, action=np.array([[0.5], [-0.5]], np.float32), cost=cost, continues=np.array([1, 0.5], np.float32))
    second = steps(1, action=np.zeros((1, 1), np.float32))
    rows = [Row.of(episode([first], finish="length")).mark(bootstrap=2.0), Row.of(episode([second], sample=1))]
    batch = pack(rows)
    assert batch.seen.tolist() == [[0, 1], [2, 3], [0, 1]] and batch.seen.dtype == np.float32  # type: ignore[union-attr]
    assert batch.action.tolist() == [[0.5], [-0.5], [0.0]]  # type: ignore[union-attr]
    assert batch.cost.tolist() == [[1, 0], [0, 2], [0, 0]]  # type: ignore[union-attr]
    assert batch.continues.tolist() == [1.0, 0.5, 1.0] and batch.bootstrap.tolist() == [2.0, 0.0]  # type: ignore[union-attr]
    part = batch.select([1])
    assert part.seen.tolist() == [[0, 1]] and part.bootstrap.tolist() == [0.0]  # type: ignore[union-attr]
    texts = pack([Row.of(episode([1, 2]))])
    assert [getattr(texts, name) for name in ("seen", "action", "cost", "continues", "bootstrap")] == [None] * 5


def test_candidates_of_steps_are_as_many_as_the_most_and_nan_beyond() -> None:
    few, many = np.ones((1, 2, 3), np.float32), np.full((1, 4, 3), 2.0, np.float32)
    found = episode([segment([0], seen=few), segment([1], seen=many), segment([2], origin=Origin.ENV)]).stream("seen")
    assert found.shape == (3, 4, 3) and np.isfinite(found).sum() == 6 + 12
    assert (
        (found[0, :2] == 1).all()
        and np.isnan(found[0, 2:]).all()
        and (found[1] == 2).all()
        and np.isnan(found[2]).all()
    )


def test_an_observation_that_changes_shape_is_an_error_that_names_both() -> None:
    changes = episode([segment([0], seen=np.ones((1, 2), np.float32)), segment([1], seen=np.ones((1, 3), np.float32))])
    with pytest.raises(ValueError, match=r"\(2,\), \(3,\)"):
        changes.stream("seen")


def test_a_span_takes_along_what_was_seen_and_its_successor_too() -> None:
    after = np.array([9.0, 9.0], np.float32)
    world = episode([steps(2, after=after, action=np.ones((2, 1), np.float32))], finish="length", prompt="b")
    beyond = longer(span_of(world), world.after)
    assert beyond.seen.tolist() == [[0, 1], [2, 3], [9, 9]] and beyond.ids.tolist() == [1, 1, 0]  # type: ignore[union-attr]
    assert beyond.action.tolist() == [[1], [1], [0]]  # type: ignore[union-attr]
    assert laid([beyond]).seen.tolist() == beyond.seen.tolist()  # type: ignore[union-attr]
    assert (
        span_of(world).context.tolist() == Letters().encode("b").tolist() and laid([span_of(episode([1]))]).seen is None
    )


def test_the_first_steps_of_a_segment_keep_what_was_seen() -> None:
    found = steps(3).first(2)
    assert found.seen.tolist() == [[0, 1], [2, 3]] and streams_of(Segment)["seen"].wide  # type: ignore[union-attr]
