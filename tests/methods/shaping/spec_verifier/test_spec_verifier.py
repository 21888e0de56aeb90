"""The length of an answer beside the reference, and the cascade in a run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import Letters, episode

from assay.known import RECIPES
from assay.lab.trial import small_run
from assay.methods.shaping.spec_verifier.length import CloseLength
from assay.part import bind, parts_of
from assay.record.rollouts import read_rollouts
from assay.reward import Scored
from assay.run.own_rewards import scored_by
from assay.types import Episode, Problem


def answer(text: str, *, gold: str = "aab", finish: str = "stop") -> Episode:
    base = episode([1])
    request = dataclasses.replace(base.request, problem=Problem("countdown", "?", {"gold": gold}, "?"))
    return dataclasses.replace(base, request=request, text=text, finish=finish)  # type: ignore[arg-type]


def cost(*answers: Episode) -> list[float | None]:
    found = bind(CloseLength(cost=0.25, most=4), codec=Letters())(answers)
    return [None if reward is None else reward.value for reward in found]


def test_the_difference_of_lengths_by_hand() -> None:
    """The reference has three letters: one more, two fewer, ten more (at most four count), none, cut, no reference."""
    found = cost(*map(answer, ("a#aabb", "b", "a" * 13, "aab", "")), answer("aaaaa", finish="length"))
    assert found == [-0.25, -0.5, -1.0, 0.0, 0.0, 0.0]
    assert cost(answer("a", gold="")) == [None]


@given(st.text("ab", min_size=1, max_size=30))
def test_it_never_pays(text: str) -> None:
    (found,) = cost(answer(text))
    assert found is not None and -1.0 <= found <= 0.0


@pytest.mark.slow
def test_the_judge_is_asked_in_a_run_only_about_what_the_rule_refuses(tmp_path: Path) -> None:
    run = small_run("spec-verifier", tmp_path, steps=2)
    assert all(record["reward/verifier_failed"] == 0 for record in run.metrics())
    table = read_rollouts(next((tmp_path / "run").rglob("step-*.parquet")))
    parts = [table[f"reward/cascade{name}"] for name in ("", "/outcome", "/judge-reference")]
    for whole, rule, judged in zip(*parts, strict=True):
        assert (judged is None) == (rule == 1.0) and whole == (rule if judged is None else judged)


def test_a_function_of_the_user_stands_within_the_cascade_in_place_of_the_rule() -> None:
    (mechanism,) = scored_by(RECIPES["spec-verifier"], ["/a/my.py:f"]).mechanisms
    assert Scored("f") in [part for part in parts_of(mechanism.reward[0]) if isinstance(part, Scored)]
