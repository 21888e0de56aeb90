"""R1-Searcher: the rewards of both stages by hand, when the second begins, and a tool that the first one teaches."""

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

from assay.known import RECIPES
from assay.part import bind
from assay.rng import Key
from assay.tasks import task
from assay.types import Episode, Verdict

RECIPE = RECIPES["r1-searcher"]


def worth(episode: Episode, stage: int) -> float:
    mechanism = RECIPE.stages[stage].mechanism or RECIPE.mechanism
    parts = [bind(part, codec=CODEC) for part in mechanism.reward]
    return sum(part([episode])[0].value for part in parts)


def of(*turns: str, right: bool = False, **about: Any) -> Episode:
    verdict = Verdict.ok("x") if right else Verdict.fail("wrong")
    return dataclasses.replace(worded(*turns, **about), verdict=verdict)


def test_the_first_stage_pays_for_a_search_and_for_its_form() -> None:
    """A half for each, whatever the answer is."""
    assert worth(of("[s b X]", "Y", "#Z"), 0) == 1.0
    assert worth(of("[o X]", "b Y", "#Z"), 0) == 0.5 == worth(of("#Z", right=True), 0)
    assert worth(of("[s b X]", "Y", "Z"), 0) == 0.5 and worth(of("Z"), 0) == 0.0
    assert worth(of("[s b X]", "!", "#Z", failed=(0,)), 0) == 0.5


def test_the_second_stage_pays_for_the_answer_and_takes_off_for_its_form() -> None:
    assert worth(of("[s b X]", "Y", "#Y", right=True), 1) == 1.0 == worth(of("#Y", right=True), 1)
    assert worth(of("[s b X]", "Y", "#Q"), 1) == 0.0
    assert worth(of("[s b X]", "Y", "Y", right=True), 1) == 1.0 - 2.0
    assert worth(of("#one two three four five six seven eight nine ten eleven"), 1) == -2.0


@given(searches=st.integers(0, 5))
def test_more_searches_are_worth_no_more(searches: int) -> None:
    turns = ["[s b X]", "Y"] * searches
    assert worth(of(*turns, "#Q"), 0) == (1.0 if searches else 0.5)
    assert worth(of(*turns, "#Q"), 1) == 0.0


def test_a_reference_of_words_is_paid_by_the_words_in_common() -> None:
    """The answer of a task of one name is paid in whole or not at all."""
    problem = task("search-small").problem(Key(3), level=2)
    named = dataclasses.replace(of("#" + problem.spec["answer"]), verdict=Verdict.fail("wrong"))
    asked = dataclasses.replace(named.request, problem=problem)
    assert worth(dataclasses.replace(named, request=asked), 1) == 1.0


def test_stages_have_the_shares_of_their_questions() -> None:
    assert [stage.share for stage in RECIPE.stages] == [350, 8148]
    assert RECIPE.stages[1].optimiser == "reset" and RECIPE.stages[1].start == "continue"


# Runs


@pytest.fixture(autouse=True)
def telling(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, TELLING)


def small(*shares: float, **scale: object) -> Any:
    sizes = {"num_prompts": 8, "group_size": 8, "num_steps": 4, "warmup_steps": 0, "learning_rate": 0.01, **scale}
    made = recipe_of("r1-searcher", max_new=6, **sizes)
    stages = tuple(dataclasses.replace(s, share=n) for s, n in zip(made.stages, shares or (1, 1), strict=True))
    return dataclasses.replace(made, stages=stages)


def engine() -> Any:
    return policy("fp32", decode=Letters().decode)


def searched(step: list[Episode]) -> float:
    """The share of answers with a search that told something."""
    return float(np.mean([any(s.is_reply and not s.failed for s in e.segments) for e in step]))


def test_a_run_goes_through_both_stages() -> None:
    notes, memory = run(small(), engine())
    names = [{reward.name for e in step for reward in e.rewards} for step in notes.episodes]
    assert names == [{"called", "turn-form"}] * 2 + [{"answer-f1", "turn-form"}] * 2 and memory.stage == 1


@pytest.mark.slow
def test_a_stopped_run_goes_on() -> None:
    require_resumable(small(num_steps=4), engine, after=3)


@pytest.mark.deep
def test_the_first_stage_teaches_to_search_and_the_second_to_worded() -> None:
    notes, _ = run(small(1, 2, num_steps=90, learning_rate=0.014), engine())
    calls = [searched(step) for step in notes.episodes]
    assert np.mean(calls[24:30]) > calls[0] + 0.2
    accuracy = notes.accuracy()
    assert np.mean(accuracy[-6:]) > np.mean(accuracy[:6]) + 0.2
