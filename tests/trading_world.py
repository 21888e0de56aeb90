"""A made-up world with all that worlds may have, for other processes to import: a state, a tool, two seats that are
trained, rewards by turn, contexts that are replaced, chance, and verdicts of its own.

Two traders speak in turn. `b` calls a tool, which counts the calls of both; behind every fourth turn a trader forgets
all but a summary. Where the environment has `TRADE_SAYS`, that is what the tool says today, at all moments or at those
in the file `TRADE_CHANGED`; the moments at which it was asked go to the file `TRADE_ASKED`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.rng import Key
from assay.tasks.task import Checker, Generator, Solution, Task, Wordings
from assay.types import Verdict
from assay.worlds import Act, Ask, Call, Line, Play, Reply, Seat, Spec, Tool, World, takes_text
from assay.worlds.speech import Compact

TURNS = 9
SEATS = ("policy", "other")


@dataclass(frozen=True)
class CallsByB(Compact):
    """All that stands before a `b` is what is called."""

    def stops(self, tools: Sequence[Tool]) -> tuple[str, ...]:
        return ("b",)

    def read(self, text: str, tools: Sequence[Tool], *, waits: bool) -> tuple[Call, ...]:
        return (Call("ask", {"word": text[:-1]}),) if waits else ()


@dataclass
class Trade:
    """One play."""

    key: Key
    turns: int = 0
    calls: int = 0
    stock: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SEATS, 0))
    acts: list[tuple[str, str]] = field(default_factory=list)

    def open(self) -> Reply:
        return Reply(Ask())

    def step(self, act: Act) -> Reply:
        self.turns += 1
        self.acts.append((act.seat, act.text))
        self.stock[act.seat] += act.text.count("a")
        rewards = {act.seat: act.text.count("a") / 4 - act.text.count("d") / 8}
        if self.turns == TURNS:
            return Reply(end="ended", rewards=rewards)
        if act.calls:
            self.calls += 1
            return Reply(Ask(act.seat, say=(Line(self._drawn() * (1 + self.calls % 2)),)), rewards=rewards)
        next_seat = SEATS[act.seat == SEATS[0]]
        if self.turns % 4 == 0:
            return Reply(Ask(next_seat, say=(Line("d" * (1 + self.stock[next_seat] % 3)),), context="replace"))
        return Reply(Ask(next_seat, say=(Line((act.text or "c")[-2:], act.seat),), most=6), rewards=rewards)

    def _drawn(self) -> str:
        """What the tool says."""
        drawn = "acd"[int(self.key("drawn", self.calls).generator().integers(3))]
        if (asked := os.environ.get("TRADE_ASKED")) is not None:
            with Path(asked).open("a") as file:
                file.write(f"{self._moment()}\n")
        if (today := os.environ.get("TRADE_SAYS")) is None:
            return drawn
        changed = os.environ.get("TRADE_CHANGED")
        return today if changed is None or self._moment() in Path(changed).read_text().split() else drawn

    def _moment(self) -> str:
        """The name of this moment in logs of replies: the play, and all that was done in it."""
        moment = self.key("moment")
        for seat, text in self.acts:
            moment = moment(seat, text)
        return moment.hex

    def judge(self) -> Mapping[str, Verdict]:
        ahead = self.stock["policy"] - self.stock["other"]
        return {"policy": _won(ahead > 0), "other": _won(ahead < 0)}

    def save(self) -> bytes:
        return json.dumps([self.turns, self.calls, self.stock, self.acts]).encode()

    def close(self) -> None:
        """It holds nothing."""


def _won(so: bool) -> Verdict:
    return Verdict.ok("more") if so else Verdict.fail("wrong")


def start(spec: Spec, key: Key) -> Play:
    return Trade(key)


def resume(spec: Spec, key: Key, saved: bytes) -> Play:
    return Trade(key, *json.loads(saved))


def trade(*, apart: bool = False, name: str = "trade") -> Task:
    """The task, whose plays run in processes of their own or not."""
    tool = takes_text("ask", "word")
    seats = tuple(Seat(name) for name in SEATS)
    return Task(
        name=name,
        domain="letters",
        summary="two traders, who call a tool",
        generator=Generator(
            levels=range(1, 3),
            instance=lambda generator, level: {"letter": "".join(generator.choice([*"abcd"], 2 + level))},
            canonical=lambda spec: spec["letter"],
        ),
        wordings=Wordings(
            compact=lambda spec: spec["letter"],
            natural=lambda spec: spec["letter"],
            solve=lambda spec: Solution(spec["letter"]),
        ),
        checker=Checker(check=lambda spec, answer: Verdict.fail("wrong", "the world says who won")),
        world=World(start, seats, CallsByB(), (tool,), resume, fork="save", apart=apart),
    )


TRADE, TRADE_APART = trade(), trade(apart=True, name="trade-apart")
SAME_APART = trade(apart=True)  # its problems and answers have the same names
