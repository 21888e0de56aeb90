"""A task whose tool takes its time, for processes to import: delays are log-normal with a mean of 0.2 s."""

from __future__ import annotations

import math
import time

from assay.tasks.task import Checker, Generator, Solution, Task, Wordings
from assay.types import Verdict
from assay.worlds import Scene, takes_text, tools

MEAN, SIGMA = 0.2, 1.0


def look(scene: Scene, field: str) -> str:
    """A letter, after a while."""
    delay = scene.key("delay", scene.calls).generator().lognormal(math.log(MEAN) - SIGMA**2 / 2, SIGMA)
    time.sleep(float(delay))
    return "abc"[scene.calls % 3]


SLOW = Task(
    name="slow",
    domain="tools",
    summary="letters, and a tool that takes its time",
    generator=Generator(
        levels=range(1, 2),
        instance=lambda generator, level: {"letter": "abc"[int(generator.integers(3))]},
        canonical=lambda spec: spec["letter"],
        split=lambda spec: "train",
    ),
    wordings=Wordings(
        compact=lambda spec: spec["letter"],
        natural=lambda spec: spec["letter"],
        solve=lambda spec: Solution(spec["letter"]),
    ),
    checker=Checker(check=lambda spec, answer: Verdict.fail("wrong")),
    world=tools((takes_text("look", "field"), look), explain=lambda why: "b", apart=True),
)
