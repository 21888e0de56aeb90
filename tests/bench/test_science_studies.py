"""The studies of formulas and of search self-play: each run can be configured, and they say what should differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from assay.run.bases import BASES
from bench.studies import __main__ as committed


@pytest.fixture(autouse=True)
def bases_of_a_study_stay_in_it() -> Iterator[None]:
    with committed.alone():
        yield


def recipes(name: str) -> dict[tuple[str, str], Any]:
    study = committed.study(name)
    assert {one.moves for one in study.expected} == {"up"} and len(study.seeds) == 5
    runs = [run for run in study.runs() if run.seed == study.seeds[0]]
    return {(run.arm, run.task): study.experiment(run, 4).recipe for run in runs}


def test_formulas_are_paid_by_the_logarithm_or_by_a_threshold_in_both_tasks() -> None:
    made = recipes("formula-errors")
    paid = {where: type(one.mechanism.reward[0]).__name__ for where, one in made.items()}
    tasks = ("equation:1", "equation-memory:1")
    assert paid == {
        **{("logarithm", task): "LogError" for task in tasks},
        **{("binary", task): "Outcome" for task in tasks},
    }
    assert {one.scale.max_new for one in made.values()} == {80}


def test_questions_have_a_reader_in_one_arm_alone() -> None:
    made = recipes("checked-questions")
    checks = {arm: getattr(one.mechanism.expand[0], "checks", None) for (arm, _), one in made.items() if arm != "given"}
    assert checks == {"checked": 1, "unchecked": 0}
    given = next(one for (arm, _), one in made.items() if arm == "given")
    assert given.name == "grpo" and given.scale.group_size == 5
    assert {share.task for share in BASES["search-posed"].pool.shares} == {
        "search-small",
        "pose:search-small",
        "given:search-small",
    }
