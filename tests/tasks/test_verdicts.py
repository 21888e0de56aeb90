"""What is judged together, and what only once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from tiny import episode

from assay import tasks
from assay.tasks.verdicts import verify
from assay.types import Episode, Problem, Verdict

NAME = "countdown"


class Recorded:
    """Judges `yes` to be right, and records what it is asked."""

    def __init__(self, *, fails: bool = False) -> None:
        self.asked: list[list[str]] = []
        self.fails = fails

    def __call__(self, pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
        self.asked.append([text for _, text in pairs])
        if self.fails:
            raise RuntimeError("the program is gone")
        return [Verdict.ok(problem.canonical) if text == "yes" else Verdict.fail("wrong") for problem, text in pairs]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    made = Recorded()
    monkeypatch.setitem(tasks.TASKS, NAME, dataclasses.replace(tasks.task(NAME), judge=made))
    return made


def answered(problem: str, *texts: str, finish: str = "stop") -> list[Episode]:
    made = episode([1, 1])
    posed = dataclasses.replace(made.request.problem, task=NAME, canonical=problem)
    request = dataclasses.replace(made.request, problem=posed)
    return [dataclasses.replace(made, request=request, text=text, finish=finish) for text in texts]


def test_equal_answers_to_a_problem_are_judged_once_and_those_to_another_problem_again(judge: Recorded) -> None:
    verdicts = verify([*answered("first", "yes", "no", "yes"), *answered("second", "yes", "no")])
    assert judge.asked == [["yes", "no", "yes", "no"]]
    assert [verdict.status for verdict in verdicts] == ["ok", "fail", "ok", "ok", "fail"]
    assert [verdict.answer for verdict in verdicts] == ["first", None, "first", "second", None]


def test_a_truncated_answer_is_not_judged_though_another_says_the_same(judge: Recorded) -> None:
    verdicts = verify([*answered("first", "yes"), *answered("first", "yes", finish="length")])
    assert [(verdict.status, verdict.kind) for verdict in verdicts] == [("ok", ""), ("fail", "truncated")]


def test_a_failure_of_the_judge_is_tried_twice_and_is_the_verdict_of_none(judge: Recorded) -> None:
    judge.fails = True
    verdicts = verify(answered("first", "yes", "yes", "no"))
    assert judge.asked == [["yes", "no"]] * 2
    assert {(verdict.status, verdict.kind) for verdict in verdicts} == {("invalid", "bug")}
