"""A search of programs: a step is wrong if it fails when it is run, and two in a row end an answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest
from grown import OPEN, Grown, ask

from assay.collect.walks import Seen
from assay.lab.trial import small_run
from assay.sandbox import Execution, Ran, opened
from assay.tasks import python_steps, task

pytestmark = [pytest.mark.external("sandbox"), pytest.mark.slow]

SPEC = {"facts": ["d=b*2", "b=a+c", "a=3", "e=c-a", "c=5"], "asked": "bd"}


def tree(**texts: str) -> Grown:
    """After the root the steps t and u; after u the steps v and w."""
    grown = Grown()
    grown.expand("", t=OPEN, u=OPEN)
    grown.expand("u", v=OPEN, w=OPEN)
    problem = task("quantities-python").pose(SPEC, level=3)
    for name, text in texts.items():
        made = grown.made[name]
        request = dataclasses.replace(made.request, problem=problem)
        grown.made[name] = dataclasses.replace(made, request=request, text=text)
    return grown


PLACED = {"t": "a=3,", "u": "d=b*2,", "v": "d=b*2,e=b,", "w": "d=b*2,a=3,"}
"""In u and v nothing stands for b: u has one failing step, v has two, and w has one before one that runs."""


def test_two_steps_that_fail_in_a_row_end_an_answer() -> None:
    """v has -1 for itself alone, and the walk goes on at w, which runs. With v for w too the walk turns to t."""
    grown, noted = tree(**PLACED), dict[str, Seen]()
    assert {request.parent for request in ask(grown, noted=noted)} == {"w"}
    seen = {name: noted[grown.made[name].request.id] for name in PLACED}
    assert seen == {name: Seen(name == "v", None) for name in PLACED}
    by_name = grown.walked(v=seen["v"], w=seen["w"]).tree.by_name
    values = {name: (node.value, node.visits) for name, node in by_name.items()}
    assert values == {"t": (0, 0), "u": (0, 0), "v": (-1, 1), "w": (0, 0)}
    assert {request.parent for request in ask(tree(**PLACED | {"w": "d=b*2,d=b*2,"}))} == {"t"}


def test_steps_are_not_run_where_errors_end_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_steps, "opened", None)
    noted = dict[str, Seen]()
    assert ask(tree(**PLACED), noted=noted, errors=0) and not any(about.stuck for about in noted.values())


def test_a_lost_sandbox_ends_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost:
        count = 1

        def map(self, runs: Sequence[Execution]) -> list[Ran]:
            return [Ran("lost") for _ in runs]

    monkeypatch.setattr(python_steps, "opened", Lost)
    monkeypatch.setattr(python_steps, "_remembered", type(python_steps._remembered)())
    noted = dict[str, Seen]()
    assert {request.parent for request in ask(tree(**PLACED), noted=noted)} == {"v"}
    assert not any(about.stuck for about in noted.values())


def test_all_steps_of_a_round_are_run_together(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox, began = opened(), list[int]()

    class Counting:
        count = sandbox.count

        def map(self, runs: Sequence[Execution]) -> list[Ran]:
            began.append(len(runs))
            return sandbox.map(runs)

    monkeypatch.setattr(python_steps, "opened", Counting)
    monkeypatch.setattr(python_steps, "_remembered", type(python_steps._remembered)())
    ask(tree(**PLACED))
    assert len(began) == 1 and began[0] <= sandbox.count


def test_a_run_on_programs(tmp_path: Path) -> None:
    """An untrained model: its steps fail, and nothing breaks."""
    result = small_run("rstar-math", tmp_path, task="quantities-python", steps=2, settings={"scale.max_new": 24})
    assert len(result.metrics()) == 2 and not any(m.get("reward/verifier_failed") for m in result.metrics())
