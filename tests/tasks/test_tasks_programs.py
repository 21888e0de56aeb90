"""The task of programs: its expected values against its worked solutions and against answers written by hand."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.rng import Key
from assay.sandbox import opened
from assay.tasks.programs import MEMBERS, PROGRAMS, calls_of, fresh_tests, value_of
from assay.verifiers.programs import judge

pytestmark = pytest.mark.external("sandbox")
LISTS = st.lists(st.integers(MEMBERS.start, MEMBERS.stop - 1), max_size=7)
BY_HAND = [
    ([["even", 0], ["double", 0], ["sum", 0]], [3, 4, -2, 7], 4),
    ([["over ", 3], ["reverse", 0]], [9, 1, 4, 3], [4, 9]),
    ([["sort", 0], ["drop ", 2], ["min", 0]], [5, 1, 8, 2], 5),
    ([["first ", 2], ["negate", 0]], [5, -6, 7], [-5, 6]),
    ([["under ", 2], ["count", 0]], [5, 1, 2, -9], 2),
    ([["odd", 0], ["square", 0], ["max", 0]], [2, -3, 1], 9),
    ([["odd", 0], ["max", 0]], [2, 4], 0),
    ([["add ", 7]], [], []),
]


@pytest.mark.parametrize(("steps", "given_", "value"), BY_HAND)
def test_operations_do_what_their_words_say(steps: list[list], given_: list[int], value: object) -> None:
    assert value_of({"steps": steps}, given_) == value


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), level=st.sampled_from(list(PROGRAMS.levels)), one=LISTS)
def test_the_worked_expression_has_the_expected_value(seed: int, level: int, one: list[int]) -> None:
    """Python itself evaluates the expression, which this task wrote: a second way to the same values."""
    problem = PROGRAMS.problem(Key(seed), level=level)
    expression = (problem.solution or "").rpartition("#")[2]
    assert re.fullmatch(r"[a-z0-9 *+\-<>=%:,()\[\]]+", expression)
    assert eval(expression, {}, {"x": one}) == value_of(problem.spec, one)


def test_no_operation_can_be_left_out() -> None:
    """The mutants of a worked solution that lack one operation are all noticed by the problem's own tests."""
    pairs = []
    for seed in range(8):
        problem = PROGRAMS.problem(Key(seed), level=3)
        for place in range(3):
            steps = problem.spec["steps"]
            shorter = {"steps": [*steps[:place], *steps[place + 1 :]]}
            pairs.append((f"f = lambda x: {PROGRAMS.solve(shorter).answer}", calls_of(problem.spec)))
    assert {verdict.status for verdict in judge(pairs, opened())} == {"fail"}


def test_answers_that_know_nothing_are_wrong() -> None:
    guesses = ["x", "[]", "0", "None", "x[::-1]", "sum(x)", "len(x)", "sorted(x)", "[x, 0]", "max(x,default=0)"]
    problems = [PROGRAMS.problem(Key(seed), level=3) for seed in range(12)]
    verdicts = PROGRAMS.judge([(problem, guess) for problem in problems for guess in guesses]) if PROGRAMS.judge else []
    assert len(verdicts) == 120 and sum(verdict.status == "ok" for verdict in verdicts) == 0


def test_functions_and_expressions_are_read_in_natural_wording() -> None:
    spec = {"steps": [["double", 0], ["sum", 0]], "lists": [[], [1], [2, 3]]}
    problem = PROGRAMS.pose(spec, level=2, wording="natural")
    right = [
        "```python\ndef f(x):\n    return 2 * sum(x)\n```",
        "So it is \\boxed{sum(v + v for v in x)}.",
        "First \\boxed{x}\n```\nf = lambda x: sum(x) + sum(x)\n```",
        "```python\ndef f(x): return 0\n```\nNo, better \\boxed{sum(x)*2}",
    ]
    wrong = [
        "",
        "sum(x)*2",
        "```python\ndef g(x): return 2 * sum(x)\n```",
        "\\boxed{}",
        "\\boxed{sum(x)}",
        "```c\nx\n```",
    ]
    assert [PROGRAMS.verify(problem, one).status for one in right] == ["ok"] * len(right)
    assert [PROGRAMS.verify(problem, one).status for one in wrong] == ["fail"] * len(wrong)


def test_fresh_lists_are_others_and_agree_with_the_solution() -> None:
    problem = PROGRAMS.problem(Key(4), level=4)
    lists = fresh_tests(problem.spec, Key(1))
    assert lists != problem.spec["lists"] and len(lists) == len(problem.spec["lists"])
    program = f"f = lambda x: {PROGRAMS.solve(problem.spec).answer}"
    assert judge([(program, calls_of(problem.spec, lists))], opened())[0].status == "ok"
