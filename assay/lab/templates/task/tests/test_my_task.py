"""The task by hand; its splits, its checker and its worked solutions; three steps of training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.lab.templates.task.my_task import MY_TASK, canonical, check, compact
from assay.lab.trial import small_run, variety
from assay.rng import Key
from assay.tasks import ALPHABET
from assay.tasks.task import SPLITS, Split


def test_an_instance_by_hand() -> None:
    spec = {"digits": [3, 9, 4]}
    assert compact(spec) == "T 3+9+4"
    assert canonical(spec) == canonical({"digits": [9, 4, 3]}) == "349"
    assert check(spec, "16").status == "ok" and check(spec, "016").answer == "16"


@pytest.mark.parametrize("answer", ["15", "", "sixteen", "1 6", "-16", "16.0", "9" * 5000, "１６", "²"])
def test_wrong_answers_are_refused(answer: str) -> None:
    assert check({"digits": [3, 9, 4]}, answer).status == "fail"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault
@given(text=st.text(max_size=40))
def test_the_checker_takes_any_text(text: str) -> None:
    assert check({"digits": [3, 9, 4]}, text).status in ("ok", "fail")


@pytest.mark.parametrize("level", MY_TASK.generator.levels)
@pytest.mark.parametrize("split", SPLITS)
def test_worked_solutions_are_right_and_in_their_split(level: int, split: Split) -> None:
    for seed in range(20):
        problem = MY_TASK.problem(Key(seed), level=level, split=split)
        natural = MY_TASK.problem(Key(seed), level=level, split=split, wording="natural")
        assert problem.id == natural.id and problem.spec == json.loads(json.dumps(problem.spec))
        assert MY_TASK.split_of(problem.spec) == split
        assert set(f"{problem.prompt}{problem.solution}") <= set(ALPHABET)
        for one in (problem, natural):
            assert MY_TASK.verify(one, one.solution or "").status == "ok"


def test_no_problem_is_in_two_splits() -> None:
    found = {split: {MY_TASK.problem(Key(i), level=4, split=split).id for i in range(200)} for split in SPLITS}
    assert not found["train"] & found["valid"] and not found["train"] & found["test"]
    assert not found["valid"] & found["test"]


def test_three_steps_of_training(tmp_path: Path) -> None:
    run = small_run("grpo", tmp_path, task="my-task", levels=[4], reward=variety)
    assert [record["step"] for record in run.metrics()] == [1, 2, 3]
