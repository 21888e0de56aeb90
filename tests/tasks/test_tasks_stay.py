"""Problems, prompts, solutions and verdicts of a task that is there are what they were: banks and runs name them by id.

`tests/golden/tasks.json` has a digest for each task. A new task needs none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from small_runs import ROOT
from test_tasks import DEAR

from assay.rng import Key, digest
from assay.tasks import TASKS, Task
from assay.types import Problem

GOLDEN: dict[str, dict[str, str]] = json.loads((ROOT / "tests/golden/tasks.json").read_text())
EACH = 4  # problems of a level


def asked(task: Task, levels: Iterable[int]) -> list[Problem]:
    return [
        task.problem(Key(i, "stays", task.name), level=level, split=split, wording=wording)
        for level in levels
        for split in ("train", "test")
        for wording in ("compact", "natural")
        for i in range(EACH // 2)
    ]


def of_problems(problems: Sequence[Problem]) -> str:
    fields = [(p.id, p.spec, p.prompt, p.canonical, p.level, p.domain, p.solution, p.wording) for p in problems]
    return digest(json.dumps(fields, sort_keys=True))


def of_answers(task: Task, problems: Sequence[Problem]) -> str:
    """The other worked solutions, the steps of each, and verdicts on right, spoilt, foreign and empty answers."""
    said: list[Any] = []
    for problem, other in zip(problems, [*problems[1:], problems[0]], strict=True):
        traces = task.traces(problem)
        texts = [*traces, (problem.solution or "")[:-1], other.solution or "", "1", "\\boxed{12}", ""]
        said += [[text, repr(task.chain(problem, text))] for text in texts]
        verdicts = [task.verify(problem, text) for text in texts]
        said += [[v.status, v.kind, v.answer, dict(v.scores or {})] for v in verdicts]
    return digest(json.dumps(said, sort_keys=True))


@pytest.mark.slow
def test_problems_and_verdicts_are_what_they_were() -> None:
    changed = []
    for name, known in GOLDEN.items():
        task = TASKS[name]
        problems = asked(task, task.generator.levels)
        changed += [f"problems of {name}"] if of_problems(problems) != known["problems"] else []
        if "answers" in known:
            changed += [f"verdicts of {name}"] if of_answers(task, problems) != known["answers"] else []
    assert not changed
    assert {name for name, known in GOLDEN.items() if "answers" not in known} >= DEAR & GOLDEN.keys()
