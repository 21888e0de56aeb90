"""Fill in: a world that answers back. Here a climber and a watcher go up a stair, some steps of which are loose.

The watcher alone sees which steps are loose, and says a few words before the climb. The climber writes `[1]` to `[9]`
to go up so many steps, and the world replies with the height. Who stands on a loose step falls to the ground.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.rng import Key
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict
from assay.worlds import COMPACT, Act, Ask, Line, Reply, Seat, World, takes_text

MOST = 12  # moves of a climb


@dataclass
class Climb:
    """One play: its state, and what it replies to an act. It calls no model and does not print or read."""

    spec: Spec
    height: int
    moves: int = 0

    def open(self) -> Reply:
        """The watcher speaks first, in a few tokens, and is told what it alone may see."""
        return Reply(Ask("watcher", say=(Line(f"loose {self.spec['loose']}: "),), most=8))

    def step(self, act: Act) -> Reply:
        """An error of the policy's is a reply; an exception would be one of the world's."""
        if act.seat == "watcher":
            return Reply(Ask(say=(Line(f" {act.text} {self.height};"),)))
        if not act.calls:
            return Reply(end="ended")
        self.moves += 1
        steps = act.calls[0].arguments.get("steps", "")
        if steps not in tuple("123456789"):
            return self._on(Reply(Ask(say=(Line("!"),)), failed=True))
        before = self.height
        self.height = 0 if str(before + int(steps)) in self.spec["loose"].split() else before + int(steps)
        rewards = {"policy": (self.height - before) / self.spec["top"]}  # of this turn
        if self.height >= self.spec["top"]:
            return Reply(end="ended", rewards=rewards)
        return self._on(Reply(Ask(say=(Line(f"{self.height};"),)), rewards=rewards))

    def _on(self, reply: Reply) -> Reply:
        """The reply, or the end where the climb has had all its moves: more would come behind this limit."""
        return reply if self.moves < MOST else Reply(end="limit", rewards=reply.rewards)

    def judge(self) -> Mapping[str, Verdict]:
        """Both seats are right where the climber is at the top."""
        up = self.height >= self.spec["top"]
        return dict.fromkeys(("policy", "watcher"), Verdict.ok(str(self.height)) if up else Verdict.fail("wrong"))

    def save(self) -> bytes:
        return bytes([self.height, self.moves])

    def close(self) -> None:
        """It holds nothing that must be given back."""


def start(spec: Spec, key: Key) -> Climb:
    """Chance comes from the key alone: here the climber starts on the ground or on the first step."""
    return Climb(spec, int(key("start").generator().integers(2)))


def instance(generator: np.random.Generator, level: int) -> Spec:
    """A random instance as plain JSON data: so many flights of eight steps, each with a loose one. A level needs a few
    thousand different instances, so that a tenth of them can be held out.
    """
    loose = [8 * flight + 2 + int(generator.integers(7)) for flight in range(level)]
    return {"top": 8 * level + 1, "loose": " ".join(map(str, loose))}


def solve(spec: Spec) -> Solution:
    """A climb by the largest safe moves, each with its reply, from the ground. It says how long answers are."""
    height, text = 0, ""
    while height < spec["top"]:
        height, move = max((height + m, m) for m in range(1, 10) if str(height + m) not in spec["loose"].split())
        text += f"[{move}]{height};"
    return Solution(str(spec["top"]), text)


MY_WORLD = Task(
    name="my-world",
    domain="worlds",
    summary="Climb a stair with loose steps, which a watcher sees; the level is the number of its flights.",
    generator=Generator(range(4, 9), instance, canonical=lambda spec: spec["loose"]),
    wordings=Wordings(
        compact=lambda spec: f"W {spec['top']}",
        natural=lambda spec: f"Climb to step {spec['top']}: write [1] to [9] to go up, and hear where you are.",
        solve=solve,
    ),
    checker=Checker(check=lambda spec, answer: Verdict.fail("wrong", "the world says who is at the top")),
    world=World(
        start,
        seats=(Seat("policy"), Seat("watcher", sees=("loose",))),
        speech=COMPACT,
        tools=(takes_text("climb", "steps", "go up so many steps"),),
        resume=lambda spec, key, saved: Climb(spec, *saved),
        fork="save",
    ),
)
