"""The moving mean of each role by hand and by its laws, and what the recipe refuses."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import episode, recipe_of

from assay.errors import ConfigError
from assay.memory import Memory
from assay.methods.exploration.spiral.baseline import (
    RoleBaseline,
    RoleMeans,
    remember_means,
    role_advantage,
    role_baseline,
)
from assay.recipe import check
from assay.types import Row


def row(reward: float, seat: str, *, tokens: int = 2, in_group: bool = True) -> Row:
    made = episode([1] * tokens, reward=reward)
    return Row(dataclasses.replace(made, request=dataclasses.replace(made.request, seat=seat)), in_group=in_group)


def test_advantages_by_hand() -> None:
    """The first player's mean goes 0, 1/2, 3/4 and stays apart from the second's, which begins at -1."""
    rewards, roles = [1.0, -1.0, 1.0, 2.0], ["a", "b", "a", "b"]
    advantages, after = role_advantage(rewards, roles, {"b": -1.0}, keep=0.5)
    assert advantages == [1.0, 0.0, 0.5, 3.0] and after == {"a": 0.75, "b": 0.5}


def test_all_tokens_of_an_answer_have_its_advantage_and_the_memory_its_means() -> None:
    rows = [row(1.0, "first", tokens=3), row(-1.0, "second", tokens=1), row(0.5, "first")]
    memory = Memory(0)
    for expected in ([1.0, -1.0, -0.25], None):
        found = role_baseline(rows, memory, keep=0.25)
        if expected is not None:
            assert [one.advantage.tolist() for one in found] == [  # type: ignore[union-attr]
                [expected[0]] * 3,
                [expected[1]],
                [expected[2]] * 2,
            ]
        memory = remember_means(memory, rows=rows, keep=0.25)
    once = 0.25 * 0.75 + 0.75 * 0.5
    twice = 0.25 * (0.25 * once + 0.75) + 0.75 * 0.5
    assert memory.store("role-means") == pytest.approx({"tiny/first": twice, "tiny/second": 0.25 * -0.75 - 0.75})


def test_answers_that_do_not_count_leave_the_means() -> None:
    rows = [row(1.0, "first", in_group=False), row(2.0, "first")]
    assert remember_means(Memory(0), rows=rows, keep=0.5).store("role-means") == {"tiny/first": 1.0}


GAMES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(-3, 3)), min_size=1, max_size=12)


@settings(max_examples=40)
@given(GAMES, st.floats(0, 1), st.integers(0, 12))
def test_means_go_on_from_step_to_step(drawn: list[tuple[str, int]], keep: float, cut: int) -> None:
    """It does not matter how answers fall into steps, nor what other roles win."""
    roles, rewards = [role for role, _ in drawn], [float(reward) for _, reward in drawn]
    whole, after = role_advantage(rewards, roles, {}, keep=keep)
    head, between = role_advantage(rewards[:cut], roles[:cut], {}, keep=keep)
    tail, end = role_advantage(rewards[cut:], roles[cut:], between, keep=keep)
    assert head + tail == whole and end == after
    alone = [reward for role, reward in zip(roles, rewards, strict=True) if role == "a"]
    mine, _ = role_advantage(alone, ["a"] * len(alone), {}, keep=keep)
    assert mine == [a for role, a in zip(roles, whole, strict=True) if role == "a"]


@given(GAMES, st.floats(0, 1))
def test_a_baseline_never_holds_its_own_reward(drawn: list[tuple[str, int]], keep: float) -> None:
    """A reward that changes moves its own advantage by as much, and none before it: the gradient has no bias."""
    roles, rewards = [role for role, _ in drawn], [float(reward) for _, reward in drawn]
    before, _ = role_advantage(rewards, roles, {}, keep=keep)
    for place in range(len(drawn)):
        moved = [reward + (i == place) for i, reward in enumerate(rewards)]
        after, _ = role_advantage(moved, roles, {}, keep=keep)
        assert after[:place] == before[:place] and after[place] == pytest.approx(before[place] + 1)


def test_a_role_that_always_wins_alike_ends_without_advantage() -> None:
    advantages, after = role_advantage([-1 / 18] * 300, ["first"] * 300, {}, keep=0.95)
    np.testing.assert_allclose(advantages, [-1 / 18 * 0.95**i for i in range(300)], rtol=1e-9, atol=1e-15)
    assert after["first"] == pytest.approx(-1 / 18, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"remember": ()}, "Add it to `remember`"),
        ({"remember": (RoleMeans(keep=0.9),)}, "keeps 0.95 of a mean, and role-means 0.9"),
    ],
)
def test_a_baseline_without_its_means_is_refused(changes: dict[str, Any], words: str) -> None:
    recipe = recipe_of("spiral")
    assert recipe.mechanism.credit == RoleBaseline(keep=0.95)
    with pytest.raises(ConfigError, match=words):
        check(dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, **changes)))
