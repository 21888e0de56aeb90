"""VerlTool: the limits of turns and replies, errors of tools, and that it learns with a tool."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from earning import advantages, earned
from hypothesis import given
from hypothesis import strategies as st
from telling import TELLING
from tiny import END, Letters, episode, policy, recipe_of, register, require_resumable, run

from assay.collect.spoken import replies_heard
from assay.known import RECIPES
from assay.source import Pool, Share


def test_rewards_and_advantages_by_hand() -> None:
    """One of four is right: 1 and -1, of mean -1/2 and deviation 1."""
    answers = [episode([1, END], sample=i, right=i == 0) for i in range(4)]
    assert earned("verltool", answers) == [1, -1, -1, -1]
    assert advantages("verltool", answers) == pytest.approx([1.5, -0.5, -0.5, -0.5], abs=1e-5)


@given(right=st.lists(st.booleans(), min_size=2, max_size=8))
def test_advantages_of_a_group_sum_to_nothing(right: list[bool]) -> None:
    answers = [episode([1, END], sample=i, right=one) for i, one in enumerate(right)]
    assert sum(advantages("verltool", answers)) == pytest.approx(0.0, abs=1e-6)


def test_it_takes_whatever_tool_a_task_has() -> None:
    (limit,) = RECIPES["verltool"].mechanism.ask
    for name in ("interpreter", "sql-tool", "search-small", "calculator"):
        assert limit.unfit(Pool((Share(name),))) is None
    assert RECIPES["verltool"].scale.longest_reply == 512


# Runs


@pytest.fixture(autouse=True)
def telling(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, TELLING)


def small(name: str = "verltool", **scale: object) -> Any:
    sizes = {"num_prompts": 8, "group_size": 8, "num_steps": 4, "warmup_steps": 0, "learning_rate": 0.01, **scale}
    return recipe_of(name, max_new=6, **sizes)


def engine() -> Any:
    return policy("fp32", decode=Letters().decode)


def test_no_answer_calls_more_often_than_it_may() -> None:
    made = small(num_steps=1)
    (limit,) = made.mechanism.ask
    ask = (dataclasses.replace(limit, most=1),)
    notes, _ = run(dataclasses.replace(made, mechanism=dataclasses.replace(made.mechanism, ask=ask)), engine())
    (step,) = notes.episodes
    assert {replies_heard(e) for e in step} == {0, 1}
    again = [e for e in step if replies_heard(e) == 1 and e.text.endswith("b")]
    assert again and all(e.finish == "length" and not e.right for e in again)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["verltool", "verltool-dapo"])
def test_a_stopped_run_goes_on(name: str) -> None:
    require_resumable(small(name), engine, after=2)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["verltool", "verltool-dapo"])
def test_it_learns_to_use_the_tool(name: str) -> None:
    notes, _ = run(small(name, num_steps=90, learning_rate=0.014), engine())
    accuracy = notes.accuracy()
    assert np.mean(accuracy[-6:]) > np.mean(accuracy[:3]) + 0.2
