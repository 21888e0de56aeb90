"""Recipes with tools in the worlds that they are for: forks in states of programs and tables, and refused tasks."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from in_turns import CODEC, small_model

import assay
from assay.collect.games import maker, opened
from assay.collect.hosts import present
from assay.errors import ConfigError
from assay.rng import Key
from assay.tasks import TASKS, interpreter, task
from assay.types import Request
from assay.worlds import Reply

SIZES: dict[str, Any] = {
    "scale": {"num_prompts": 4, "max_new": 24},
    "machine": {"hosts": 1},
    "evaluation": {"num_problems": 2, "num_samples": 2},
    "quiet": True,
}


@pytest.mark.parametrize("recipe", ["retool", "spo-tool", "r1-searcher", "asearcher"])
def test_a_task_without_the_tool_is_refused_before_anything_is_loaded(tmp_path: Path, recipe: str) -> None:
    with pytest.raises(ConfigError, match=r"needs a world with the tool .* that of 'calculator' has calculate"):
        assay.train(recipe, task="calculator", model="calculator", run=tmp_path / "run", **SIZES)


def said(reply: Reply) -> str:
    return "" if reply.ask is None else "".join(line.text for line in reply.ask.say)


def in_two_plays(name: str, level: int, before: list[str], first: list[str], second: list[str]) -> list[list[str]]:
    """What is replied to `first` in a play behind the calls `before`, and to `second` in a fork from that moment."""
    problem, found = task(name).problem(Key(0), level=level), task(name).world
    assert found is not None
    world = found.spoken("compact")
    request = Request(problem, CODEC.render("?"), "g", 99, seat="policy")
    make = maker(world, request, Key(1), present(), None)  # type: ignore[arg-type]
    play, _ = opened(make)
    acts = [world.act("policy", f"[{call}]", waits=True) for call in before]
    for act in acts:
        play.step(act)
    saved = play.save() if world.fork == "save" else None
    other = make(tuple(acts), saved, False)
    replies = []
    for one, calls in ((play, first), (other, second)):
        replies.append([said(one.step(world.act("policy", f"[{call}]", waits=True))) for call in calls])
        one.close()
    return replies


def test_a_fork_goes_on_in_the_tables_of_its_trunk_and_changes_none_of_its_own() -> None:
    trunk, fork = in_two_plays(
        "sql-tool",
        1,
        ["create table kept(n integer)", "insert into kept values(7)"],
        ["insert into kept values(8)", "select sum(n) from kept"],
        ["select sum(n) from kept"],
    )
    assert trunk[1] == "15" and fork == ["7"]


@pytest.mark.external("sandbox")
def test_a_fork_goes_on_with_what_the_programs_of_its_trunk_defined(monkeypatch: pytest.MonkeyPatch) -> None:
    here = dataclasses.replace(interpreter.INTERPRETER.world, apart=False)  # type: ignore[type-var]
    monkeypatch.setitem(TASKS, "interpreter", dataclasses.replace(interpreter.INTERPRETER, world=here))
    trunk, fork = in_two_plays("interpreter", 1, ["x=6", "y=x*7"], ["y=1", "y"], ["y", "z"])
    assert trunk == ["", "1"] and fork[0] == "42" and "NameError" in fork[1]


@pytest.mark.deep
@pytest.mark.parametrize("name", ["sql-tool", "search-small"])
@pytest.mark.parametrize("recipe", ["arpo", "rstar2", "gigpo", "verltool"])
def test_runs_in_worlds_with_tables_and_pages(tmp_path: Path, name: str, recipe: str) -> None:
    ran(tmp_path, name, recipe)


@pytest.mark.deep
@pytest.mark.external("sandbox")
@pytest.mark.parametrize("recipe", ["arpo", "rstar2", "spo-tool", "gigpo"])
def test_runs_with_an_interpreter(tmp_path: Path, recipe: str) -> None:
    ran(tmp_path, "interpreter", recipe)


def ran(folder: Path, name: str, recipe: str) -> None:
    """Two steps of a model that knows nothing: nothing fails, and each group is as large as it should be."""
    sizes = {**SIZES, "scale": {**SIZES["scale"], "group_size": 1 if recipe == "spo-tool" else 2}}
    made = assay.train(recipe, task=name, model=small_model(folder, Key("small")), steps=2, run=folder / "run", **sizes)
    assert made.steps == 2 and all(row.get("world/faults", 0) == 0 for row in made.metrics())
    expected = {"arpo": 4}.get(recipe, 2) * 4
    if recipe != "spo-tool":
        assert {row["rollouts"] for row in made.metrics()} == {float(expected)}
