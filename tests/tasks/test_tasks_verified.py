"""Tasks that a foreign program verifies: worked solutions, splits, wordings and total verdicts, as of others."""

from __future__ import annotations

import json

import pytest
from test_tasks import HOSTILE

from assay.rng import Key
from assay.tasks import ALPHABET, TASKS
from assay.types import Problem

NAMES = ["metamath", "verilog", "coq"]
PROBLEMS = {"metamath": 20, "verilog": 4, "coq": 10}  # of a level, by what a verdict costs
JUDGED = [
    pytest.param(name, marks=[pytest.mark.external(external) for external in TASKS[name].checker.externals])
    for name in NAMES
]
BOX = "\\boxed{"


def posed(name: str, level: int, seed: int, **options) -> Problem:
    return TASKS[name].problem(Key(seed, name, level), level=level, **options)


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", JUDGED)
def test_worked_solutions_are_right_in_both_wordings(name: str) -> None:
    task = TASKS[name]
    compact = [posed(name, level, seed) for level in task.generator.levels for seed in range(PROBLEMS[name])]
    natural = [
        posed(name, level, seed, wording="natural") for level in task.generator.levels for seed in range(PROBLEMS[name])
    ]
    assert [p.id for p in compact] == [p.id for p in natural]
    assert task.checker.verify_many is not None
    found = task.checker.verify_many([(problem, problem.solution or "") for problem in compact + natural])
    assert [(v.status, v.detail) for v in found] == [("ok", "")] * len(found)
    for problem in compact:
        assert problem.spec == json.loads(json.dumps(problem.spec))
        assert set(f"{problem.prompt}{problem.solution}") <= set(ALPHABET)
        assert "#" not in problem.prompt
    assert all(len(str(problem.prompt)) > 150 for problem in natural)


@pytest.mark.slow
@pytest.mark.parametrize("name", JUDGED)
def test_the_canonical_answer_is_its_own_canonical_form(name: str) -> None:
    task = TASKS[name]
    for level in (task.generator.levels[0], task.generator.levels[-1]):
        problem = posed(name, level, 3)
        first = task.verify(problem, problem.solution or "")
        again = task.checker.check(problem.spec, first.answer or "")
        assert (again.status, again.answer) == ("ok", first.answer)


@pytest.mark.parametrize("name", NAMES)
def test_easy_questions_and_solutions_are_short(name: str) -> None:
    problems = [posed(name, TASKS[name].generator.levels[0], seed) for seed in range(100)]
    assert sorted(len(problem.prompt) for problem in problems)[50] <= 42
    assert sorted(len(problem.solution or "") for problem in problems)[50] <= 32


@pytest.mark.slow
@pytest.mark.parametrize("name", JUDGED)
def test_verdicts_on_any_text_are_failures(name: str) -> None:
    task = TASKS[name]
    problem = posed(name, task.generator.levels[0], 5)
    natural = posed(name, task.generator.levels[0], 5, wording="natural")
    pairs = [(problem, text) for text in HOSTILE] + [(natural, f"{BOX}{text}}}") for text in HOSTILE]
    assert task.checker.verify_many is not None
    assert {verdict.status for verdict in task.checker.verify_many(pairs)} == {"fail"}


@pytest.mark.slow
@pytest.mark.parametrize("name", JUDGED)
def test_answers_of_other_problems_are_mostly_wrong(name: str) -> None:
    task = TASKS[name]
    top = task.generator.levels[-1]
    problem = posed(name, top, 0)
    answers = [(posed(name, top, seed).solution or "").rpartition("#")[2] for seed in range(2 * PROBLEMS[name])]
    assert task.checker.verify_many is not None
    statuses = [verdict.status for verdict in task.checker.verify_many([(problem, answer) for answer in answers])]
    assert statuses[0] == "ok" and statuses.count("ok") <= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_splits_are_disjoint(name: str) -> None:
    task = TASKS[name]
    seen: dict[str, str] = {}
    for level in (task.generator.levels[0], task.generator.levels[-1]):
        for split in ("train", "valid", "test"):
            for seed in range(20):
                problem = posed(name, level, seed, split=split)
                assert task.split_of(problem.spec) == split == seen.setdefault(problem.id, split)


def test_answers_without_a_mark_or_cut_short_have_the_wrong_form() -> None:
    for name in NAMES:
        task = TASKS[name]
        natural = posed(name, task.generator.levels[0], 1, wording="natural")
        assert task.verify(natural, "it is obvious").kind == "format"
        assert task.verify(natural, f"{BOX}}}").kind == "empty"
