"""The second look at rewarded answers: what is looked at, what is counted, and when a run ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from altered import altered
from scipy import stats
from tiny import episode

from assay import tasks
from assay.errors import VerifierError
from assay.rng import Key
from assay.run.grader import Grader
from assay.run.second_look import LEAST, STOP, SecondLook
from assay.tasks.verifying import second_verdicts, verify_twice
from assay.types import Episode, Problem, Verdict
from assay.verifiers.rates import certain_share, wilson

NAME = "countdown"


def oracle(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Refuses answers that say `trick`, and fails on those that say `down`."""
    said = {"trick": Verdict.fail("wrong", "on fresh data"), "down": Verdict.invalid("worker_lost")}
    return [next((verdict for word, verdict in said.items() if word in text), Verdict.ok()) for _, text in pairs]


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> None:
    task = altered(tasks.task(NAME), second=oracle)
    monkeypatch.setitem(tasks.TASKS, task.name, task)


def answered(text: str, number: int, *, status: str = "ok") -> Episode:
    """An episode of the task with this text and verdict; the number tells the requests apart."""
    made = episode([1, 1])
    problem = dataclasses.replace(made.request.problem, task=tasks.task(NAME).name)
    request = dataclasses.replace(made.request, problem=problem, sample=number)
    verdict = Verdict(status)  # type: ignore[arg-type]
    return dataclasses.replace(made, request=request, text=text, verdict=verdict)


@pytest.mark.usefixtures("second")
def test_a_share_of_the_right_answers_is_looked_at_whatever_the_order() -> None:
    right = [answered("fine", n) for n in range(2000)]
    wrong = [answered("trick", n, status="fail") for n in range(50)]
    look = SecondLook(0.02, warn=pytest.fail)
    counts = look([*right, *wrong], Key(3))
    assert 20 <= counts["second_look/answers"] <= 62, "2 % of 2000 answers: 40, within five deviations of 6.3 / 1.4"
    assert counts["second_look/refused"] == 0
    again = SecondLook(0.02, warn=pytest.fail)([*wrong, *right[::-1]], Key(3))
    assert again == counts, "the request decides, not its place"


@pytest.mark.usefixtures("second")
def test_a_refused_answer_is_told_and_many_end_the_run() -> None:
    told: list[str] = []
    look = SecondLook(1.0, told.append)
    look([answered("fine", n) for n in range(99)], Key(0))
    look.tell()
    assert not told
    counts = look([answered("trick", 99)], Key(1))
    assert counts == {"second_look/answers": 1.0, "second_look/refused": 1.0}
    look.tell()
    assert len(told) == 1 and "refused 1 of 100 right answers" in told[0] and "wrong: on fresh data" in told[0]
    look([answered("fine", n) for n in range(10)], Key(2))
    look.tell()
    assert len(told) == 1, "a step without a refused answer tells nothing"
    look([answered("trick", n) for n in range(9)], Key(3))
    with pytest.raises(VerifierError, match=r"refused 10 of 119 .* more than 2%.*'trick'"):
        look.tell()


@pytest.mark.usefixtures("second")
def test_a_resumed_run_goes_on_counting() -> None:
    look = SecondLook(1.0, warn=pytest.fail)
    look.remember([{"second_look/answers": 20.0, "second_look/refused": 4.0}, {"reward/mean": 0.5}])
    look([answered("trick", 0)], Key(0))
    with pytest.raises(VerifierError, match="refused 5 of 21"):
        look.tell()


@pytest.mark.usefixtures("second")
def test_a_second_oracle_that_fails_is_not_counted() -> None:
    look = SecondLook(1.0, warn=pytest.fail)
    assert look([answered("down", 0)], Key(0)) == {"second_look/answers": 0.0, "second_look/refused": 0.0}
    look.tell()


def test_a_task_without_a_second_oracle_has_no_such_metrics() -> None:
    assert SecondLook(1.0, warn=pytest.fail)([answered("trick", 0)], Key(0)) == {}
    assert second_verdicts([answered("trick", 0)]) == [None]


@pytest.mark.usefixtures("second")
def test_an_exam_needs_both_oracles(monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` says ok, fail, ok; the second oracle refuses the first and fails on the last."""
    episodes = [answered(text, n) for n, text in enumerate(("trick", "trick", "fine", "down"))]
    first = [Verdict.ok(), Verdict.fail("wrong"), Verdict.ok(), Verdict.ok()]
    monkeypatch.setattr("assay.tasks.verifying.verify", lambda given, **more: list(first))
    found = verify_twice(episodes)
    assert [verdict.status for verdict in found] == ["fail", "fail", "ok", "invalid"]
    assert found[0].detail == "on fresh data" and Grader().exam(episodes) == found


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [(0, 100, 0.0, 0.0370), (1, 100, 0.0018, 0.0545), (5, 21, 0.1063, 0.4509), (50, 100, 0.4038, 0.5962)],
)
def test_wilson_intervals_are_those_of_the_tables(count: int, total: int, low: float, high: float) -> None:
    assert wilson(count, total) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


@pytest.mark.parametrize("count", range(1, 8))
@pytest.mark.parametrize("total", [8, 40, 1000])
def test_exact_bounds_are_quantiles_of_the_beta_distribution(count: int, total: int) -> None:
    """Clopper and Pearson: the lower end is the quantile 0.025 of Beta(count, total - count + 1)."""
    expected = stats.beta.ppf(0.025, count, total - count + 1)
    assert certain_share(count, total) == pytest.approx(expected, rel=1e-9)
    assert certain_share(0, total) == 0.0


def test_an_accident_ends_no_run() -> None:
    """By hand: with one case among n, (1 - p)^n = 0.975 gives p = 0.0042 for n = 6; two cases need n of at most 12."""
    assert certain_share(1, 6) == pytest.approx(1 - 0.975 ** (1 / 6)) and certain_share(1, 6) < STOP
    assert certain_share(2, 12) > STOP > certain_share(2, 13)
    assert certain_share(1, 1) > STOP and LEAST == 2, "a single refused answer ends no run, even the first"


@pytest.mark.usefixtures("second")
def test_the_first_refused_answer_is_told_and_the_second_ends_the_run() -> None:
    told: list[str] = []
    look = SecondLook(1.0, told.append)
    look([answered("trick", 0)], Key(0))
    look.tell()
    assert len(told) == 1 and "refused 1 of 1 right answers" in told[0]
    look([answered("trick", 1)], Key(1))
    with pytest.raises(VerifierError, match="refused 2 of 2"):
        look.tell()
