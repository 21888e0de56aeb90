"""An answer to a question with a hint in it says nothing of the bare policy: no pass rate, no level, no success."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import worked
from composed import Dice, Signs, asked, constants, part_of, recipe
from of_methods import made, make, said
from tiny import episode, reopened, run
from worded import helped
from worked import POOL, beginner

from assay.known import SLOTS
from assay.memory import Memory
from assay.memory.places import keepers
from assay.models import Models
from assay.part import bind
from assay.recipe import Mechanism

HELPED: dict[str, bool] = {"ask:hinted": True, **said("HELPED")}
"""Part that changes the question -> whether that helps: it writes a part of the solution into it."""


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    worked.register(monkeypatch)


@pytest.mark.slow
def test_a_part_that_changes_the_question_says_whether_it_helps() -> None:
    changes: dict[str, set[bool]] = {}
    offered = {
        **constants(recipe(Mechanism()), {"codec": Signs(), "pool": POOL}),
        "micro_tokens": 100,
        "since": 0,
        "until": 8,
    }
    plain = {r.problem.id: r.context.tolist() for r in asked()}
    models = Models({"policy": Dice(Signs.vocab)}, {"policy": "policy"})  # type: ignore[dict-item]
    for name in SLOTS["ask"]:
        part = bind(part_of("ask", name), **offered)
        made = part(asked(), models=models, memory=Memory(0), name="harvest", place="")
        for request in made:
            if request.context.tolist() != plain[request.problem.id]:
                changes.setdefault(f"ask:{name}", set()).add(request.hinted)
    assert changes == {place: {helps} for place, helps in HELPED.items()}


@pytest.mark.slow
def test_hints_in_the_question_fill_no_store() -> None:
    """Every answer has a part of the solution before it."""
    remember: tuple[Any, ...] = tuple(part for _, part in made({"remember:keep-examined": {}, **said("BARE")}))
    bare = recipe(Mechanism(remember=remember), num_prompts=8)
    hinted = dataclasses.replace(bare, mechanism=Mechanism(ask=(make("ask:hinted", share=1.0),), remember=remember))
    (plain, before), (_, after) = (run(one, beginner(), pool=POOL, codec=Signs()) for one in (bare, hinted))
    assert any(e.right for step in plain.episodes for e in step)
    assert sum(t for _, t in before.store("pass-rates").values()) > 0
    (kept,) = keepers([remember])
    for keeper in kept:
        assert before.kept.get(keeper.place) or before.store(keeper.place), keeper.place
    assert not after.store("pass-rates") and not after.kept
    assert not any(after.store(keeper.place) for keeper in kept)


def test_what_a_checkpoint_holds_knows_whether_it_was_helped() -> None:
    requests = [helped(request) if request.sample > 0 else request for request in asked(1)]
    held = [dataclasses.replace(episode([1]), request=request) for request in requests]
    assert [e.request.helped for e in reopened(Memory(0).hold("x", held)).kept["x"]] == [False, True, True, True]
