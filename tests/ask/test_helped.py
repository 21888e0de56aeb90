"""An answer to a question with a hint in it says nothing of the bare policy: no pass rate, no level, no success."""

from __future__ import annotations

import dataclasses

import pytest
import worked
from composed import Dice, Signs, constants, part_of, recipe
from of_methods import make
from tiny import episode, reopened, run
from worked import POOL, beginner

from assay.ask import Sampling, first_requests
from assay.known import SLOTS
from assay.memory import Memory
from assay.models import Models
from assay.part import bind
from assay.recipe import Mechanism
from assay.rng import Key
from assay.types import Request

HINTS = {
    "hinted",
    "cut-anywhere",
    "partial-solution",
    "taught-refinement",
}  # these write a part of the solution into it
# and these ask otherwise
WORDS = {"budget", "conditioned", "write-then-solve", "abstract", "teach-abstractions", "as-experts"}


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    worked.register(monkeypatch)


def asked(count: int = 40) -> list[Request]:
    problems = [POOL.problem(Key(i)) for i in range(count)]
    return first_requests(problems, Memory(0), first=0, samples=4, sampling=Sampling(4), codec=Signs())


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
                changes.setdefault(name, set()).add(request.hinted)
    assert changes == {**{name: {True} for name in HINTS}, **{name: {False} for name in WORDS}}


def test_a_question_that_is_written_anew_holds_no_hint_any_longer() -> None:
    offered = constants(recipe(Mechanism()), {"codec": Signs(), "pool": POOL})
    hinted = bind(make("ask:partial-solution", least=1), **offered)(asked(), memory=Memory(0))
    assert all(request.helped for request in hinted)
    again = bind(make("ask:budget", low=2, high=3), **offered)(hinted, memory=Memory(0))
    assert not any(request.helped for request in again)


@pytest.mark.parametrize("trained", ["question", "hinted"])
def test_a_retry_with_a_hint_is_helped_whatever_it_trains(trained: str) -> None:
    wrong = [dataclasses.replace(episode([1], reward=0.0), request=request) for request in asked(1)]
    made = bind(make("expand:retry-with-hint", trained=trained), codec=Signs())(wrong)
    assert made and all(request.helped for request in made)


def test_an_answer_with_an_abstraction_is_helped() -> None:
    first = dataclasses.replace(asked(1)[0], role="abstraction")
    written = dataclasses.replace(episode([1], reward=0.0), request=first, text="ab")
    solving = bind(make("expand:solve-with", samples=2), codec=Signs(), sampling=Sampling(4), group_size=4)([written])
    assert len(solving) == 2 and all(request.helped for request in solving)


def highest(memory: Memory) -> int:
    """The highest open level of the one share of the pool, counted from its easiest."""
    (standing,) = memory.store("levels").values()
    return standing["highest"]


@pytest.mark.slow
def test_hints_in_the_question_open_no_level_and_fill_no_store() -> None:
    """QuestA's way: every answer has half of the solution before it."""
    settings = {"promote": {"accuracy": 0.0, "after": 1}, "hold-solved": {"most": 1.0}}
    names = ("promote", "keep-successes", "keep-examined", "track-temperature", "hold-solved", "hold-unsolved")
    remember = tuple(make(f"remember:{name}", **settings.get(name, {})) for name in names)
    bare = recipe(Mechanism(remember=remember), num_prompts=8)
    hinted = dataclasses.replace(
        bare, mechanism=Mechanism(ask=(make("ask:partial-solution", least=1),), remember=remember)
    )
    (plain, before), (_, after) = (run(one, beginner(), pool=POOL, codec=Signs()) for one in (bare, hinted))
    assert any(e.right for step in plain.episodes for e in step)
    assert highest(before) == 1 and sum(t for _, t in before.store("pass-rates").values()) > 0
    assert {*before.kept} == {"successes", "solved", "unsolved"} and before.store("examined")
    assert highest(after) == 0 and not after.store("pass-rates") and not after.kept
    assert not after.store("examined") and not after.store("temperatures")


def test_what_a_checkpoint_holds_knows_whether_it_was_helped() -> None:
    requests = [dataclasses.replace(request, hinted=request.sample > 0) for request in asked(1)]
    held = [dataclasses.replace(episode([1]), request=request) for request in requests]
    assert [e.request.helped for e in reopened(Memory(0).hold("x", held)).kept["x"]] == [False, True, True, True]
