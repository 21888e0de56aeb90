"""ReLIFT: unsolved problems are studied."""

from __future__ import annotations

import dataclasses

import pytest
from demonstrated import requests, small
from tiny import END, Notes, episode, models_for, require_resumable, stages_of
from worked import POOL, Signs, beginner, register

from assay.loop import train
from assay.memory import Memory
from assay.methods.demonstrations.relift.study import Study, study
from assay.methods.demonstrations.relift.unsolved import hold_unsolved
from assay.types import Row


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_unsolved_problems_are_held_once_the_newest_first_until_they_were_studied() -> None:
    groups = {name: requests(2, 6)[2 * i : 2 * i + 2] for i, name in enumerate("abc")}

    def rows(name: str, rights: list[float]) -> list[Row]:
        pairs = zip(rights, groups[name], strict=True)
        return [Row(dataclasses.replace(episode([1, END], reward=r), request=q)) for r, q in pairs]

    def after(memory: Memory, *made: Row) -> Memory:
        episodes = [row.episode for row in made]
        return hold_unsolved(memory, episodes=episodes, rows=made, place="unsolved", student="student")

    def names(memory: Memory) -> list[str]:
        return [e.request.problem.id for e in memory.kept.get("unsolved", ())]

    a, b = (groups[name][0].problem.id for name in "ab")
    memory = after(Memory(0), *rows("a", [0.0, 0.0]), *rows("b", [1.0, 0.0]))
    assert names(memory) == [a]
    if a != b:
        memory = after(memory, *rows("b", [0.0, 0.0]), *rows("a", [0.0, 0.0]))
        assert names(memory) == [b, a]
    asked = study([], memory, codec=Signs(), size=len(names(memory)), place="unsolved", student="student")
    assert [r.problem.id for r in asked] == names(memory) and all(r.role == "student" for r in asked)
    assert study([], memory, codec=Signs(), size=9, place="unsolved", student="student") == []
    shown = [dataclasses.replace(episode([1, END], reward=1.0), request=r) for r in asked]
    assert study(shown, memory, codec=Signs(), size=1, place="unsolved", student="student") == []
    assert names(after(memory, *(Row(e) for e in shown))) == []
    short = [dataclasses.replace(e, request=dataclasses.replace(e.request, max_new=1)) for e in memory.kept["unsolved"]]
    assert study([], memory.hold("unsolved", short), codec=Signs(), size=1, place="unsolved", student="student") == []


def test_fine_tuning_steps_have_moments_of_their_own() -> None:
    """A run in which no answer is ever right studies as soon as two problems are held, with Adam's first step."""
    recipe = small("relift", num_prompts=2, num_minibatches=1, num_steps=3)
    wrong = dataclasses.replace(recipe.mechanism, expand=(Study(size=1),))
    recipe = dataclasses.replace(recipe, mechanism=wrong)
    engine = beginner()
    notes = Notes()
    models = models_for(recipe, engine)
    memory = train(stages_of(recipe, pool=POOL, codec=Signs()), models, Memory(0), notes)
    studied = [[e for e in step if e.request.role == "student"] for step in notes.episodes]
    if any(studied):
        state = engine.state()
        steps = {key.partition(":")[0] for key in state if ":" in key}
        assert steps == {"optimiser/student"}
        count = next(float(v) for key, v in state.items() if key.startswith("optimiser/student:step/"))
        assert count == sum(bool(step) for step in studied)
    assert memory.step == 3


@pytest.mark.slow
def test_a_run_of_relift_that_is_stopped_goes_on_to_the_same_bits() -> None:
    require_resumable(small("relift", group_size=4), beginner, after=2, pool=POOL, codec=Signs())
