"""Worlds that wait, hang, die or differ from day to day, for processes of their own to import."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.rng import Key
from assay.tasks.task import Checker, Generator, Solution, Task, Wordings
from assay.types import Verdict
from assay.worlds import Act, Ask, Line, Play, Reply, Spec, Tool, World
from assay.worlds.speech import Compact

TURNS = 4


@dataclass(frozen=True)
class AtB(Compact):
    """Waits behind every b."""

    def stops(self, tools: Sequence[Tool]) -> tuple[str, ...]:
        return ("b",)


@dataclass
class Waiting:
    """Replies after a while that the key decides; to a `d` it does what the environment says."""

    key: Key
    heard: str = ""

    def open(self) -> Reply:
        if os.environ.get("WAITING_TROUBLE") == "begin":
            raise OSError("nobody listens")
        return Reply(Ask())

    def step(self, act: Act) -> Reply:
        random = self.key("delay", len(self.heard)).generator()
        time.sleep(float(os.environ.get("WAITING_SECONDS", "0")) * float(random.lognormal(0, 1)))
        if (folder := os.environ.get("WAITING_FOLDER")) and slow(self.key):
            while sum(1 for _ in Path(folder).iterdir()) < int(os.environ["WAITING_FOR"]):
                time.sleep(0.01)
        if "d" in act.text and (trouble := os.environ.get("WAITING_TROUBLE")):
            self.trouble(trouble)
        self.heard += act.text
        if not act.text.endswith("b") or self.heard.count("b") > TURNS:
            return Reply(end="ended")
        said = os.environ.get("WAITING_SAYS", "c") * int(os.environ.get("WAITING_TIMES", "1"))  # a letter of the day
        self.heard += said
        paid = {"policy": np.float32(0.5)} if os.environ.get("WAITING_TROUBLE") == "reward" else {}
        return Reply(Ask(say=(Line(said),)), rewards=paid)  # type: ignore[arg-type]

    def trouble(self, what: str) -> None:
        if what == "hang":
            time.sleep(600)
        if what == "die" or (what == "die-once" and self.first()):
            os._exit(3)
        if what == "raise":
            raise ValueError("no such page")
        if what == "start":
            subprocess.run(["cat"], check=True)
            stays = subprocess.Popen(["sleep", "600"])
            with Path(os.environ["WAITING_PIDS"]).open("a") as file:
                file.write(f"{stays.pid}\n")
        if what == "print":
            print("a world may print")  # what it prints is nobody's reply

    def first(self) -> bool:
        """Whether nobody has died today."""
        died = Path(os.environ["WAITING_FOLDER"], "died")
        if died.exists():
            return False
        died.touch()
        return True

    def save(self) -> bytes:
        return self.heard.encode()

    def close(self) -> None:
        """It holds nothing."""

    def judge(self) -> Mapping[str, Verdict]:
        if folder := os.environ.get("WAITING_FOLDER"):
            Path(folder, self.key.hex).touch()
        return {"policy": Verdict.ok(self.heard[-20:])}


def slow(key: Key) -> bool:
    """Whether the replies of this play wait until enough others are over."""
    return float(key("slow").generator().random()) < 0.3


def start(spec: Spec, key: Key) -> Play:
    return Waiting(key)


def resume(spec: Spec, key: Key, saved: bytes) -> Play:
    return Waiting(key, saved.decode())


WAITING = Task(
    name="tiny",
    domain="letters",
    summary="letters, to which a world replies",
    generator=Generator(
        levels=range(1, 2),
        instance=lambda generator, level: {"letter": "ab"[int(generator.integers(2))]},
        canonical=lambda spec: spec["letter"],
        split=lambda spec: "train",
    ),
    wordings=Wordings(
        compact=lambda spec: spec["letter"],
        natural=lambda spec: spec["letter"],
        solve=lambda spec: Solution(spec["letter"]),
    ),
    checker=Checker(check=lambda spec, answer: Verdict.fail("wrong")),
    world=World(start, speech=AtB(), resume=resume, fork="save", apart=True),
)
