"""ASearcher: form times F1 by hand, what is forgotten, old answers, and that it learns with a search."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_turns import CODEC, worded
from telling import TELLING
from tiny import Letters, policy, recipe_of, register, require_resumable, run

from assay.collect.spoken import replies_heard
from assay.known import RECIPES
from assay.memory import Memory
from assay.part import bind
from assay.source import Pool, Share
from assay.types import Verdict

RECIPE = RECIPES["asearcher"]


def worth(*turns: str, right: bool) -> float:
    made = dataclasses.replace(worded(*turns), verdict=Verdict.ok("x") if right else Verdict.fail("wrong"))
    (part,) = RECIPE.mechanism.reward
    (reward,) = bind(part, codec=CODEC, memory=Memory(0))([made])
    return reward.value


def test_the_form_multiplies_the_reward() -> None:
    assert worth("[s b X]", "Y", "#Y", right=True) == 1.0 and worth("[s b X]", "Y", "#Q", right=False) == 0.0
    assert worth("[s b X]", "Y", "Y", right=True) == 0.0, "right, and without the mark"
    assert worth("[x X]", "!", "#Y", right=True) == 0.0, "a call of no tool"


@given(calls=st.integers(0, 6), right=st.booleans())
def test_the_number_of_searches_does_not_matter(calls: int, right: bool) -> None:
    assert worth(*(["[s b X]", "Y"] * calls), "#Y", right=right) == float(right)


def test_it_needs_a_search_and_forgets_pages() -> None:
    limit, forget = RECIPE.mechanism.ask
    assert limit.unfit(Pool((Share("search-small"),))) is None and "search" in str(
        limit.unfit(Pool((Share("sql-tool"),)))
    )
    assert forget.keep == 25 and limit.most == 32  # pyright: ignore[reportAttributeAccessIssue]


# Runs


@pytest.fixture(autouse=True)
def telling(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, TELLING)
    monkeypatch.setattr("assay.collect.plays.CUT", "")


def small(**scale: object) -> Any:
    sizes = {"num_prompts": 8, "group_size": 8, "num_steps": 4, "warmup_steps": 0, "learning_rate": 0.01, **scale}
    made = recipe_of("asearcher", max_new=8, **sizes)
    limit, forget = made.mechanism.ask
    ask = (limit, dataclasses.replace(forget, keep=0))
    return dataclasses.replace(made, mechanism=dataclasses.replace(made.mechanism, ask=ask))


def engine() -> Any:
    return policy("fp32", decode=Letters().decode)


def test_answers_are_four_steps_old_and_have_a_row_for_each_context() -> None:
    notes, _ = run(small(num_steps=6), engine())
    (batch,) = notes.batches[5]
    assert batch.version is not None
    written = set(batch.version[batch.mask].tolist())
    assert written == {1}
    twice = [e for step in notes.episodes for e in step if replies_heard(e) > 1]
    assert twice and all(len(e.paths()) == replies_heard(e) for e in twice)


@pytest.mark.slow
def test_a_stopped_run_goes_on() -> None:
    require_resumable(small(), engine, after=2)


@pytest.mark.deep
def test_it_learns_to_search() -> None:
    notes, _ = run(small(num_steps=120, learning_rate=0.014), engine())
    accuracy = notes.accuracy()
    assert np.mean(accuracy[-6:]) > np.mean(accuracy[:3]) + 0.15
