"""What is verified together, and what only once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from altered import altered
from tiny import episode

from assay import tasks
from assay.tasks.verifying import verify
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
    monkeypatch.setitem(tasks.TASKS, NAME, altered(tasks.task(NAME), verify_many=made))
    return made


def answered(problem: str, *texts: str, finish: str = "stop") -> list[Episode]:
    made = episode([1, 1])
    posed = dataclasses.replace(made.request.problem, task=NAME, canonical=problem)
    request = dataclasses.replace(made.request, problem=posed)
    return [dataclasses.replace(made, request=request, text=text, finish=finish) for text in texts]


def test_equal_answers_to_a_problem_are_verified_once_and_those_to_another_problem_again(judge: Recorded) -> None:
    verdicts = verify([*answered("first", "yes", "no", "yes"), *answered("second", "yes", "no")])
    assert judge.asked == [["yes", "no", "yes", "no"]]
    assert [verdict.status for verdict in verdicts] == ["ok", "fail", "ok", "ok", "fail"]
    assert [verdict.answer for verdict in verdicts] == ["first", None, "first", "second", None]


def test_a_truncated_answer_is_not_verified_though_another_says_the_same(judge: Recorded) -> None:
    verdicts = verify([*answered("first", "yes"), *answered("first", "yes", finish="length")])
    assert [(verdict.status, verdict.kind) for verdict in verdicts] == [("ok", ""), ("fail", "truncated")]


class Fragile:
    """Judges as `Recorded`, and raises whenever it sees one of these texts."""

    def __init__(self, *breaking: str) -> None:
        self.breaking = breaking
        self.calls = 0

    def __call__(self, pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
        self.calls += 1
        for _, text in pairs:
            if text in self.breaking:
                raise ValueError(f"cannot read {text}")
        return [Verdict.ok() if text == "yes" else Verdict.fail("wrong") for _, text in pairs]


def verified_by(judge: Fragile, monkeypatch: pytest.MonkeyPatch, texts: Sequence[str]) -> list[Verdict]:
    monkeypatch.setitem(tasks.TASKS, NAME, altered(tasks.task(NAME), verify_many=judge))
    return verify(answered("first", *texts))


@pytest.mark.parametrize("breaking", [(), ("17",), ("0", "31"), ("3", "4", "5", "20")])
def test_what_one_answer_raises_is_the_verdict_of_that_answer_alone(
    breaking: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["yes", *map(str, range(32)), "yes"]
    judge = Fragile(*breaking)
    verdicts = verified_by(judge, monkeypatch, texts)
    wanted = ["invalid" if text in breaking else "ok" if text == "yes" else "fail" for text in texts]
    assert [verdict.status for verdict in verdicts] == wanted
    assert judge.calls <= 1 + 2 * len(breaking) * 7, "by halves: some calls for each culprit, not one for each answer"


def test_the_verdict_on_an_answer_that_raises_says_what_was_raised_and_where(monkeypatch: pytest.MonkeyPatch) -> None:
    (verdict,) = verified_by(Fragile("no"), monkeypatch, ["no"])
    assert (verdict.status, verdict.kind) == ("invalid", "bug")
    assert "ValueError: cannot read no (test_verifying.py:" in verdict.detail


def test_an_answer_on_which_the_judge_raised_once_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    class Once(Fragile):
        def __call__(self, pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
            found = super().__call__(pairs) if self.calls else None
            self.calls += 1
            if found is None:
                raise OSError("for once")
            return found

    assert [one.status for one in verified_by(Once(), monkeypatch, ["yes"])] == ["ok"]


def test_a_judge_that_forgets_an_answer_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(Fragile):
        def __call__(self, pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
            return super().__call__(pairs)[: len(pairs) // 2]

    assert {one.kind for one in verified_by(Forgetful(), monkeypatch, ["yes", "no"])} == {"bug"}


def test_a_failure_of_the_judge_is_the_verdict_of_none(judge: Recorded) -> None:
    judge.fails = True
    verdicts = verify(answered("first", "yes", "yes", "no"))
    assert judge.asked == [["yes", "no"], ["yes"], ["yes"], ["no"], ["no"]]
    assert {(verdict.status, verdict.kind) for verdict in verdicts} == {("invalid", "bug")}
