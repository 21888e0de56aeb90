"""Every world keeps the contract; a world that breaks a promise is told which, and where."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from assay import check_world
from assay.errors import UsageError
from assay.lab.templates.world.my_world import MY_WORLD
from assay.rng import Key
from assay.tasks import TASKS
from assay.types import Verdict
from assay.worlds import COMPACT, Act, Ask, Line, Reply, Seat, Spec, World, takes_text

APART = {"interpreter", "equivalence", "search-python", "search-python-small"}
"""Plays take long: test_interpreter_world.py, test_equivalence.py, test_search_python.py."""
WORLDS = [name for name in TASKS if TASKS[name].world is not None and name not in APART]


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_keeps_the_contract(name: str) -> None:
    checked = check_world(name, plays=200 if name == "calculator" else 40)
    assert checked.turns > checked.plays and checked.calls > checked.plays


def test_the_world_of_the_template_keeps_it() -> None:
    assert check_world(MY_WORLD).rewards > 10


def test_a_task_without_a_world_is_refused() -> None:
    with pytest.raises(UsageError, match="'countdown' has no world"):
        check_world("countdown")


# Broken worlds


@dataclass
class Broken:
    """Counts its calls, and breaks one promise."""

    spec: Spec
    key: Key
    calls: int = 0
    shared: list[int] = field(default_factory=list)

    def open(self) -> Reply:
        return Reply(Ask())

    def step(self, act: Act) -> Reply:
        self.calls += 1
        self.shared.append(1)
        return Reply(Ask(say=(Line(self.said()),)) if act.calls else None, end="" if act.calls else "ended")

    def said(self) -> str:
        return str(self.calls)

    def judge(self) -> Mapping[str, Verdict]:
        return {}

    def save(self) -> bytes | None:
        return bytes([self.calls])

    def close(self) -> None:
        """It holds nothing."""


SHARED: list[int] = []


class OfOthers(Broken):
    def said(self) -> str:
        SHARED.append(1)
        return str(len(SHARED))


class Forgetful(Broken):
    def save(self) -> bytes:
        return bytes([0])


class Silent(Broken):
    def save(self) -> None:
        return None


class Raising(Broken):
    def step(self, act: Act) -> Reply:
        if "[[[[]]]]" in act.text:
            raise IndexError("no such place")
        return super().step(act)


class Faulty(Broken):
    def step(self, act: Act) -> Reply:
        return dataclasses.replace(super().step(act), fault="the tool is gone")


class Overpaid(Broken):
    def step(self, act: Act) -> Reply:
        return dataclasses.replace(super().step(act), rewards={"policy": float("inf")})


class PaysAnother(Broken):
    def step(self, act: Act) -> Reply:
        return dataclasses.replace(super().step(act), rewards={"nobody": 1.0})


class AsksAnother(Broken):
    def step(self, act: Act) -> Reply:
        return Reply(Ask("nobody"))


class NoEnd(Broken):
    def step(self, act: Act) -> Reply:
        return Reply() if not act.calls else super().step(act)


class Over(Broken):
    def open(self) -> Reply:
        return Reply(end="ended")


class Tells(Broken):
    def said(self) -> str:
        return f"it is {self.spec['secret']}"


class Surrogate(Broken):
    def said(self) -> str:
        return "\ud800"


class ClosesOnce(Broken):
    def close(self) -> None:
        if self.calls < 0:
            raise ValueError("it is closed")
        self.calls = -1


def broken(kind: Callable[..., Any], **about: Any) -> World:
    def resume(spec: Spec, key: Key, saved: bytes) -> Any:
        return kind(spec, key, saved[0])

    settings = {"fork": "save", "resume": resume, "seats": (Seat(), Seat("other", sees=("secret",))), **about}
    return World(kind, speech=COMPACT, tools=(takes_text("look", "field"),), **settings)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (OfOthers, "expected the same replies whatever is played beside it"),
        (Forgetful, "expected the same replies from turn 1 on, by save"),
        (Silent, "bytes of `save`, and a `resume` that reads them"),
        (Raising, r"expected a reply to the turn .*; IndexError: no such place"),
        (Faulty, "expected no fault of the world's .* it says 'the tool is gone'"),
        (Overpaid, "expected rewards that are numbers; 'policy' gets inf"),
        (PaysAnother, "expected rewards for seats that have acted; 'nobody' gets one and has not"),
        (AsksAnother, "expected a seat of other, policy to be asked; it asks 'nobody'"),
        (NoEnd, "expected a reply with an `Ask`, or with an end"),
        (Over, "expected a play to open with an `Ask`; `open` returned the end 'ended'"),
        (Tells, "expected 'secret' to be seen by 'other' alone; it is said to 'policy'"),
        (Surrogate, "expected a text that can be written in UTF-8"),
        (ClosesOnce, "expected a play that may be closed twice; ValueError: it is closed"),
    ],
)
def test_a_promise_that_is_broken_is_named(kind: type, told: str) -> None:
    task = dataclasses.replace(MY_WORLD, name="broken", world=broken(kind))
    problem = task.generator.instance
    secret = dataclasses.replace(
        task.generator, instance=lambda generator, level: {**problem(generator, level), "secret": "a wish of three"}
    )
    with pytest.raises(UsageError, match=told):
        check_world(dataclasses.replace(task, generator=secret), plays=6)


def test_without_a_broken_promise_it_is_kept() -> None:
    checked = check_world(dataclasses.replace(MY_WORLD, name="kept", world=broken(Broken)), plays=6)
    assert checked.plays == 6 and checked.rewards == 0
