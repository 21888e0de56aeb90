"""The second oracles of tasks: they accept what is right, and refuse what deceives the first one."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from assay.rng import Key
from assay.tasks import TASKS
from assay.tasks.task import Task
from assay.types import Problem, Verdict

NAMES = sorted(name for name, task in TASKS.items() if task.checker.second is not None)
RUN_ALONE = {"python-abduction", "python-deduction", "python-induction"}
"""Their sandbox runs what a policy wrote, as Python means it: there is no second meaning to ask."""
READ_TWICE = {"equivalence"}
"""Nothing foreign verifies its answers. Its labels are known from how a pair was made, and read from its texts too."""
WITH_EXTERNALS = [
    pytest.param(name, marks=[pytest.mark.external(one) for one in TASKS[name].checker.externals]) for name in NAMES
]


def problems(task: Task) -> list[Problem]:
    levels = list(task.generator.levels)[:3]
    return [task.problem(Key(number), level=level) for level in levels for number in range(2)]


def second(name: str, pairs: list[tuple[Problem, str]]) -> list[Verdict]:
    verify = TASKS[name].checker.second
    assert verify is not None
    return verify(pairs)


def test_whatever_a_foreign_program_verifies_has_a_second_oracle() -> None:
    judged = {name for name, task in TASKS.items() if task.checker.externals}
    assert sorted(judged - RUN_ALONE | READ_TWICE) == NAMES


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
def test_a_table_of_the_first_verifies_tests_is_refused() -> None:
    """A program that knows the lists of the problem by heart passes its tests, and no others."""
    drawn = TASKS["programs"].problem(Key(3), level=2)
    problem = TASKS["programs"].pose(drawn.spec, level=2, wording="natural")
    from assay.tasks.programs import calls_of

    known = {str(call.arguments[0]): call.expected for call in calls_of(problem.spec).tests}
    learnt = f"```python\nknown = {known!r}\ndef f(x): return known.get(str(x))\n```"
    assert TASKS["programs"].verify(problem, learnt).status == "ok"
    (verdict,) = second("programs", [(problem, learnt)])
    assert (verdict.status, verdict.kind) == ("fail", "wrong")


@pytest.mark.slow
@pytest.mark.external("sqlite")
def test_the_second_oracle_of_queries_uses_other_databases() -> None:
    from assay.verifiers.sql import by_execution

    problem = TASKS["sql"].problem(Key(1), level=1)
    gold = by_execution.gold_text(problem.spec)
    one, other = (by_execution._gold(gold, first).databases for first in (0, by_execution.DATABASES))
    assert len(one) == len(other) == by_execution.DATABASES
    assert not [database for database in one if database in other and any(table["rows"] for table in database)]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("max 3a+2b;a+b<=4;a+3b<=6", "ok"),
        ("min -2b-3a; 2a+2b<=8; a/1<=9", "fail"),  # unreadable
        ("min -2b-3a; 3b+a<=6; 0.5a+0.5b<=2; a<=4; b>=0", "ok"),  # other words, and rows that forbid nothing
        ("max 3a+2b;a+b<=4", "fail"),
        ("max 3a+2b;a+b<=4;a+3b<=6;a>=1", "fail"),  # with the same optimum
        ("max 3a+2b;a=4;b=0", "fail"),
        ("max 3a+2b;a+b<=4;a+3b<=6;bounds;a free", "fail"),
        ("max 6a+4b;a+b<=4;a+3b<=6", "fail"),
        ("min 3a+2b;a+b<=4;a+3b<=6", "fail"),
        ("max 3a+2b;a+b<=4;a+3b<=6;int a b", "fail"),
        ("max 3a+2b+0c;a+b<=4;a+3b<=6", "fail"),
    ],
)
def test_linear_programs_are_compared_without_a_solver(answer: str, status: str) -> None:
    spec = {"least": False, "whole": False, "prices": [3, 2], "uses": [[1, 1], [1, 3]], "stocks": [4, 6], "most": []}
    problem = dataclasses.replace(TASKS["linear-program"].problem(Key(0), level=1), spec=spec)
    assert [verdict.status for verdict in second("linear-program", [(problem, answer)])] == [status]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("min 2a+3b;2a+3b>=7;5a+b>=5;int a b", "ok"),
        ("min 2a+3b;2a+3b>=6.5;5a+b>=4.25;int a b", "ok"),  # the same whole points
        ("min 2a+3b;2a+3b>=8;5a+b>=5;int a b", "fail"),  # without (2, 1)
        ("min 2a+3b;2a+3b>=7;5a+b>=5;a<=30;int a b", "fail"),  # far from all other points that are looked at
        ("min 2a+3b;2a+3b>=7;5a+b>=5", "fail"),
    ],
)
def test_whole_programs_are_compared_at_whole_points(answer: str, status: str) -> None:
    spec = {"least": True, "whole": True, "prices": [2, 3], "uses": [[2, 3], [5, 1]], "stocks": [7, 5], "most": []}
    problem = dataclasses.replace(TASKS["linear-program"].problem(Key(0), level=3), spec=spec)
    assert [verdict.status for verdict in second("linear-program", [(problem, answer)])] == [status]


def test_programs_with_too_many_rows_have_no_second_verdict() -> None:
    problem = TASKS["linear-program"].problem(Key(0), level=1)
    rows = ";".join(f"a+{n}b<=1000" for n in range(40))
    (verdict,) = second("linear-program", [(problem, f"{problem.spec['program']};{rows}")])
    assert (verdict.status, verdict.kind) == ("invalid", "too_large")


def test_outputs_of_a_unit_follow_from_the_question() -> None:
    """Two bits, s = 0: a + b, s = 1: a - b; by hand for a = 1 and b = 0 to 3, s changing fastest."""
    from assay.tasks.verilog import outputs, ports

    spec = {"operations": ["add", "sub"], "width": 2}
    found = outputs(spec)
    assert [(port.name, port.width) for port in ports(spec)] == [("a", 2), ("b", 2), ("s", 1), ("y", 2)]
    assert len(found) == 32 and found[8:16] == ("01", "01", "10", "00", "11", "11", "00", "10")
    assert outputs({"inputs": 2, "tables": ["0110", "0001"]}) == ("00", "10", "10", "01")


@pytest.mark.slow
@pytest.mark.external("iverilog")
def test_the_second_oracle_of_circuits_sees_one_wrong_input() -> None:
    problem = TASKS["verilog"].problem(Key(0), level=5)
    problem = dataclasses.replace(problem, spec={"operations": ["add", "sub"], "width": 4})
    answers = ["#y=s?a-b:a+b", "#y=s?a-b:(a==9&b==14?0:a+b)", "#y=s?a+b:a-b", "#y=s?a-b:a+"]
    found = second("verilog", [(problem, answer) for answer in answers])
    assert [verdict.status for verdict in found] == ["ok", "fail", "fail", "fail"]


@pytest.mark.slow
@pytest.mark.external("metamath")
def test_a_renamed_theorem_needs_the_same_rules_and_renamed_steps_of_syntax() -> None:
    problem = TASKS["metamath"].problem(Key(0), level=1)
    spec = {"hypotheses": ["p", "( p > q )"], "goal": "q", "witness": "ABm"}
    problem = dataclasses.replace(problem, spec=spec)
    found = second("metamath", [(problem, answer) for answer in ("#ABm", "#wp wq A B m", "#wq wp A B m", "#BAm")])
    assert [verdict.status for verdict in found] == ["ok", "ok", "fail", "fail"]


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
    assert TASKS["coq"].checker.verify_many is not None
    assert TASKS["coq"].checker.verify_many([(problem, wrong)])[0].status == "ok", "the session was deceived"
    (verdict,) = second("coq", [(problem, wrong)])
    assert (verdict.status, verdict.kind) == ("fail", "forbidden")
