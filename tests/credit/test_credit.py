"""Advantages against their formulas, groups at the edge, and what of a row goes into a batch."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from statistics import mean
from typing import Any

import numpy as np
import pytest
from distinct import CREDITS
from formulas import standard
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sweeps import over
from tiny import batch_of, episode, group_of, phases_of, recipe_of, segment

from assay.credit import LeaveOneOut, advantages, pack
from assay.credit.advantage import constant, group_relative, leave_one_out, score
from assay.errors import ConfigError
from assay.known import RECIPES
from assay.memory import Memory
from assay.part import Part, bind
from assay.recipe import check
from assay.types import Origin, Row

REWARDS = st.lists(st.integers(-16, 16).map(lambda n: n / 4), min_size=2, max_size=8)
GROUPED: dict[str, Callable[[list[float]], list[float]]] = {
    "others": lambda rewards: [r - (sum(rewards) - r) / (len(rewards) - 1) for r in rewards],
    "none": lambda rewards: [r - mean(rewards) for r in rewards],
    "std": standard,
}


def estimate(scale: str, rewards: list[float], group: list[int] | None = None) -> np.ndarray:
    """Against the mean of the others, or the group's own with this scale."""
    groups = np.array(group if group is not None else [0] * len(rewards))
    values = np.array(rewards, dtype=np.float64)
    if scale == "others":
        return leave_one_out(values, groups)
    return group_relative(values, groups, scale=scale, ddof=1, epsilon=1e-6)  # type: ignore[arg-type]


# Formulas


@pytest.mark.parametrize("scale", GROUPED)
@settings(max_examples=60, deadline=None)
@given(rewards=REWARDS)
def test_estimators_of_one_group(scale: str, rewards: list[float]) -> None:
    np.testing.assert_allclose(estimate(scale, rewards), GROUPED[scale](rewards), rtol=1e-12, atol=1e-12)


def test_binary_rewards_at_pass_rate_p() -> None:
    """ddof 0: sqrt((1-p)/p) for right, -sqrt(p/(1-p)) for wrong; ddof 1 shrinks both by sqrt((G-1)/G)."""
    r, p = np.array([1.0, 0.0, 0.0, 0.0]), 0.25
    right, wrong = math.sqrt((1 - p) / p), -math.sqrt(p / (1 - p))
    plain = group_relative(r, np.zeros(4), scale="std", ddof=0, epsilon=0.0)
    np.testing.assert_allclose(plain, [right, wrong, wrong, wrong], rtol=1e-12)
    np.testing.assert_allclose(
        group_relative(r, np.zeros(4), scale="std", ddof=1, epsilon=0.0), plain * math.sqrt(0.75)
    )
    wide = group_relative(r, np.zeros(4), scale="std", ddof=0, epsilon=1.0)
    np.testing.assert_allclose(wide, (r - 0.25) / (math.sqrt(3 / 16) + 1.0), rtol=1e-12)


def test_score_and_constant() -> None:
    r = np.array([1.0, -0.5, 0.0])
    assert score(r, np.arange(3)).tolist() == [1.0, -0.5, 0.0]
    assert constant(r, np.arange(3), value=2.0).tolist() == [2.0, 2.0, 2.0]


def test_groups_are_apart_however_rows_are_ordered() -> None:
    rewards, group = [1.0, 0.0, 0.0, 3.0, 1.0, 1.0], [0, 1, 0, 1, 0, 1]
    found = estimate("others", rewards, group)
    np.testing.assert_allclose(found, [0.5, -2.0, -1.0, 2.5, 0.5, -0.5], rtol=1e-12)


# Properties


@pytest.mark.parametrize("scale", GROUPED)
@settings(max_examples=40, deadline=None)
@given(rewards=REWARDS, shift=st.integers(-8, 8), seed=st.integers(0, 9))
def test_a_constant_and_an_order_change_nothing(scale: str, rewards: list[float], shift: int, seed: int) -> None:
    found = estimate(scale, rewards)
    assert abs(found.sum()) < 1e-9
    np.testing.assert_allclose(estimate(scale, [r + shift for r in rewards]), found, rtol=1e-9, atol=1e-9)
    order = np.random.default_rng(seed).permutation(len(rewards))
    np.testing.assert_allclose(estimate(scale, [rewards[i] for i in order]), found[order], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", GROUPED)
@settings(max_examples=40, deadline=None)
@given(rewards=REWARDS, factor=st.sampled_from([0.25, 2.0, 64.0]))
def test_scale_of_rewards(scale: str, rewards: list[float], factor: float) -> None:
    """Advantages scale with the reward, unless they are divided by its spread."""
    assume(max(rewards) > min(rewards))
    found, scaled = estimate(scale, rewards), estimate(scale, [factor * r for r in rewards])
    divided = scale == "std"
    np.testing.assert_allclose(scaled, found if divided else factor * found, rtol=1e-4 if divided else 1e-12)


@pytest.mark.parametrize("scale", GROUPED)
@pytest.mark.parametrize(
    "rewards",
    [[0.1] * 7, [1.0] * 3, [0.0] * 4, [0.1 + 0.2, 0.3, 0.3], [1e9, 1e9 + 1], [5.0, 5.0 + 4e-6], [1e-7, 0.0], [0.7]],
)
def test_equal_rewards_give_exactly_zero(scale: str, rewards: list[float]) -> None:
    """Equal up to rounding: max - min <= 1e-6 max(1, max|r|). A group that shrank to one row has nothing to compare."""
    assert estimate(scale, rewards).tolist() == [0.0] * len(rewards)


@pytest.mark.parametrize("scale", GROUPED)
def test_just_above_rounding_is_a_difference(scale: str) -> None:
    found = estimate(scale, [5.0, 5.0 + 6e-6])
    assert found[0] < 0 < found[1] and np.isfinite(found).all()


@pytest.mark.parametrize("scale", GROUPED)
def test_a_uniform_group_is_not_moved_by_its_neighbours(scale: str) -> None:
    found = estimate(scale, [0.1, 1.0, 0.1, 0.0, 0.1], [0, 1, 0, 1, 0])
    assert found[[0, 2, 4]].tolist() == [0.0, 0.0, 0.0] and (found[[1, 3]] != 0).all()


@pytest.mark.parametrize("scale", GROUPED)
def test_no_rewards_no_advantages(scale: str) -> None:
    assert estimate(scale, [], []).shape == (0,)


def test_unknown_scale_is_refused() -> None:
    with pytest.raises(ConfigError, match="mean"):
        group_relative(np.ones(2), np.zeros(2), scale="mean", ddof=1, epsilon=0.0)  # type: ignore[arg-type]


@pytest.mark.slow
@over(sorted(RECIPES))
def test_groups_of_one_are_refused_where_there_is_nothing_to_compare(name: str) -> None:
    recipe = recipe_of(name, group_size=1)
    sized = any(part.sizes_groups for part in recipe.mechanism.expand)  # its answers are not those of a group
    if recipe.mechanism.credit.compares and not sized:
        with pytest.raises(ConfigError, match="group of one"):
            check(recipe)
    else:
        check(recipe)


# Rows


def test_only_rows_of_their_group_with_a_reward_are_compared() -> None:
    """The row that is out and the row without verdict change nobody's baseline and have no advantage."""
    rows = [*group_of([1.0, 0.0, 5.0, None, 0.5]), *group_of([2.0, 4.0], name="h")]
    rows[2] = rows[2].mark(in_group=False)
    found = advantages(rows, Memory(0), [bind(LeaveOneOut())])
    first = [None if row.advantage is None else row.advantage.tolist() for row in found]
    assert first == [[0.75] * 2, [-0.75] * 2, None, None, [0.0] * 2, [-2.0] * 2, [2.0] * 2]


def _shared(part: Part) -> bool:
    """Whether the part belongs to no method."""
    return type(part).__module__.startswith("assay.credit.")


def test_a_group_that_shrank_to_one_trains_on_nothing() -> None:
    rows = group_of([1.0, None, None])
    rows = [
        row if row.reward is not None else row.mark(in_loss=False, in_group=False, in_denominator=False) for row in rows
    ]
    credits = {name: recipe.mechanism.credit for name, recipe in RECIPES.items()}
    comparing = {repr(one): name for name, one in credits.items() if one.compares and _shared(one)}
    for name in comparing.values():
        batch = batch_of(recipe_of(name), rows)
        assert len(batch) == 1 and batch.advantage.tolist() == [0.0, 0.0]


@pytest.mark.slow
@over(CREDITS, [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [1.0, None], [None, None], [0.3, 0.1 + 0.2]])
def test_no_group_at_the_edge_gives_a_number_that_is_none(name: str, rewards: list[float | None]) -> None:
    rows = [*group_of(rewards, lengths=[0, 1]), *group_of([0.0, 1.0], name="whole", lengths=[1, 3])]
    rows = [
        row if row.reward is not None else row.mark(in_loss=False, in_group=False, in_denominator=False) for row in rows
    ]
    batch = batch_of(recipe_of(name), rows)
    assert np.isfinite(batch.advantage).all()
    assert len(batch) == 2 + sum(r is not None for r in rewards)


def test_no_rows_no_batches() -> None:
    assert phases_of(recipe_of("rloo")).credit([], Memory(0)) == []


# Packing


def test_a_batch_holds_what_its_rows_hold() -> None:
    mixed = episode(
        [segment([1, 2], version=3), segment([4, 4, 4], origin=Origin.ENV), segment([0], version=4)],
        group="a", sample=1, reward=1.0, prompt="ba", temperature=0.5,
    )  # fmt: skip
    teacher = episode([segment([3, 0], origin=Origin.INJECTED)], group="b", reward=0.0)
    cut = episode([1, 1], group="b", sample=1, reward=0.0, finish="length")
    rows = [
        Row(mixed, advantage=np.full(6, 0.5), weight=2.0),
        Row(teacher, in_loss=False, advantage=np.ones(2)),
        Row(cut, in_denominator=False, keep=np.array([False, True])),
        Row(episode([], group="c")),
    ]
    batch = pack(rows)
    assert batch.ids.tolist() == [1, 2, 4, 4, 4, 0, 3, 0, 1, 1]
    assert batch.at.tolist() == [0, 6, 8, 10, 10] and batch.lengths.tolist() == [6, 2, 2, 0]
    assert batch.context.tolist() == [2, 1, 1, 1, 1] and batch.context_at.tolist() == [0, 2, 3, 4, 5]
    assert batch.mask.tolist() == [True, True, False, False, False, True, False, False, False, True]
    assert batch.counted.tolist() == [True, True, False, False, False, True, False, False, False, False]
    assert batch.counted_rows.tolist() == [True, True, False, True]
    assert batch.advantage.tolist() == [1.0] * 6 + [1.0, 1.0] + [0.0, 0.0]
    assert batch.origin.tolist() == [0, 0, 2, 2, 2, 0, 1, 1, 0, 0]
    assert batch.temperature.tolist() == [0.5, 1.0, 1.0, 1.0]
    assert batch.version is not None and batch.version.tolist() == [3, 3, 0, 0, 0, 4, 0, 0, 0, 0]
    assert batch.sampled is not None
    assert np.isnan(batch.sampled).tolist() == [False, False, True, True, True, False, True, True, False, False]
    assert batch.truncated is not None and batch.truncated.tolist() == [False, False, True, False]
    assert batch.ended is not None and batch.ended.tolist() == [True, True, False, True]
    assert batch.group == ("a", "b", "b", "c") and len(set(batch.request)) == 4
    assert batch.old is None and batch.ref is None and batch.generation is None


def test_tokens_of_others_train_where_they_are_imitated_but_those_of_the_environment_never() -> None:
    given_ = episode(
        [segment([3, 2], origin=Origin.INJECTED), segment([4], origin=Origin.ENV), segment([0])], reward=1.0
    )
    assert pack([Row(given_)]).mask.tolist() == [False, False, False, True]
    assert pack([Row(given_)], injected={"policy"}).mask.tolist() == [True, True, False, True]
    assert pack([Row(given_)], injected={"other"}).mask.tolist() == [False, False, False, True]


def test_a_forward_for_some_rows_is_an_error() -> None:
    rows = group_of([1.0, 0.0])
    with pytest.raises(ValueError, match="1 of 2"):
        pack([rows[0].mark(old=np.zeros(2, np.float32)), rows[1]])


def test_other_loss_terms_weigh_one_where_nothing_is_said() -> None:
    rows = group_of([1.0, 0.0], lengths=[2, 3])
    batch = pack([rows[0].mark(term_weights={"kl": np.array([0.5, 2.0])}), rows[1]])
    assert batch.term_weights["kl"].tolist() == [0.5, 2.0, 1.0, 1.0, 1.0]


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.data())
def test_packing_and_selecting_rows_is_packing_the_selected_rows(lengths: list[int], data: st.DataObject) -> None:
    random = np.random.default_rng(sum(lengths))
    rows = []
    for i, n in enumerate(lengths):
        made = episode(
            random.integers(0, 5, n).tolist(), group=str(i % 2), sample=i, prompt="abcd"[: 1 + i % 4], right=False
        )
        streams: dict[str, Any] = {name: random.normal(size=n).astype(np.float32) for name in ("old", "ref", "value")}
        rows.append(Row(made, advantage=random.normal(size=n), term_weights={"kl": random.normal(size=n)}, **streams))
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=7))
    found, expected = pack(rows).select(chosen), pack([rows[i] for i in chosen])
    for field in dataclasses.fields(found):
        a, b = getattr(found, field.name), getattr(expected, field.name)
        if field.name == "term_weights":
            a, b = a["kl"], b.get("kl", np.zeros(0))
        if chosen or not isinstance(a, np.ndarray) or field.name in ("at", "context_at"):
            np.testing.assert_array_equal(a, b, err_msg=field.name)
    again = pack(rows).select(range(len(rows)))
    np.testing.assert_array_equal(again.ids, pack(rows).ids)
