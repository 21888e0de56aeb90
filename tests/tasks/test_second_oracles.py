"""The second oracles of tasks: they accept what is right, and refuse what deceives the first judge."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from assay.rng import Key
from assay.tasks import TASKS
from assay.tasks.task import Task
from assay.types import Problem, Verdict

NAMES = sorted(name for name, task in TASKS.items() if task.second is not None)
WITH_EXTERNALS = [
    pytest.param(name, marks=[pytest.mark.external(one) for one in TASKS[name].externals]) for name in NAMES
]


def problems(task: Task) -> list[Problem]:
    levels = list(task.levels)[:3]
    return [task.problem(Key(number), level=level) for level in levels for number in range(2)]


def second(name: str, pairs: list[tuple[Problem, str]]) -> list[Verdict]:
    judge = TASKS[name].second
    assert judge is not None
    return judge(pairs)


def test_these_tasks_have_a_second_oracle() -> None:
    assert NAMES == ["coq", "programs", "smt", "sql"]


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_EXTERNALS)
def test_a_worked_solution_passes_and_another_one_does_not(name: str) -> None:
    asked = problems(TASKS[name])
    found = second(name, [(problem, problem.solution or "") for problem in asked])
    assert [verdict.status for verdict in found] == ["ok"] * len(asked), found
    found = second(name, [(problem, "nonsense") for problem in asked])
    assert [verdict.status for verdict in found] == ["fail"] * len(asked), found


@pytest.mark.slow
@pytest.mark.external("sandbox")
def test_a_table_of_the_first_judges_tests_is_refused() -> None:
    """A program that knows the lists of the problem by heart passes its tests, and no others."""
    problem = TASKS["programs"].problem(Key(3), level=2)
    from assay.tasks.programs import value_of

    lists: list[Any] = problem.spec["lists"]
    known = {str(one): value_of(problem.spec, one) for one in lists}
    learnt = f"#{known!r}.get(str(x))"
    assert TASKS["programs"].verify(problem, learnt).status == "ok"
    (verdict,) = second("programs", [(problem, learnt)])
    assert (verdict.status, verdict.kind) == ("fail", "wrong")


@pytest.mark.slow
@pytest.mark.external("sqlite")
def test_the_second_oracle_of_queries_uses_other_databases() -> None:
    from assay.verifiers.sql import verdicts

    problem = TASKS["sql"].problem(Key(1), level=1)
    gold = verdicts.gold_text(problem.spec)
    one, other = (verdicts._gold(gold, first).databases for first in (0, verdicts.DATABASES))
    assert len(one) == len(other) == verdicts.DATABASES
    assert not [database for database in one if database in other and any(table["rows"] for table in database)]


@pytest.mark.slow
@pytest.mark.external("coq")
def test_a_proof_with_an_axiom_is_refused_by_the_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session is made to say yes; the checker then still says what the proof assumes."""
    from assay.host.workers import Outcome
    from assay.verifiers.proofs import coq

    problem = dataclasses.replace(TASKS["coq"].problem(Key(0), level=1))
    asked = coq.workers_of("coq").map

    class Deceived:
        def map(self, jobs: list[Any]) -> list[Outcome]:
            yes = {"status": "proved", "place": 0, "said": ""}
            return [Outcome("done", yes) if "tactics" in job else asked([job])[0] for job in jobs]

    monkeypatch.setattr(coq, "workers_of", lambda name: Deceived())
    wrong = "#intros. reflexivity."
    assert TASKS["coq"].judge is not None
    assert TASKS["coq"].judge([(problem, wrong)])[0].status == "ok", "the session was deceived"
    (verdict,) = second("coq", [(problem, wrong)])
    assert (verdict.status, verdict.kind) == ("fail", "forbidden")
