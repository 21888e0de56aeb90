"""A task in letters whose answer a tool alone tells: b asks, and the letter is the reply, or d at the wrong moment."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from talking import StopsAt, replying
from tiny import TINY

from assay.tasks.task import Checker, Generator, Solution, Task, Wordings
from assay.types import Verdict
from assay.worlds import Call, Tool
from assay.worlds.tools import takes_text


@dataclasses.dataclass(frozen=True)
class Calling(StopsAt):
    """A turn that ends with b calls the tool `s`."""

    def read(self, text: str, tools: Sequence[Tool], *, waits: bool) -> tuple[Call, ...]:
        return (Call("s", {"query": text}),) if waits else ()


def _told(spec: Mapping[str, Any], text: str) -> str | None:
    """The letter, behind a b that comes first; the error d behind any other."""
    return None if not text.endswith("b") else spec["letter"] if text == "b" else "d"


WORLD = dataclasses.replace(
    replying(_told, "b", failed=lambda reply: reply == "d"),
    speech=Calling(("b",)),
    tools=(takes_text("s", "query"),),
)
TELLING: Task = dataclasses.replace(
    TINY,
    generator=Generator(
        levels=range(1, 2),
        instance=lambda generator, level: {"letter": "ac"[int(generator.integers(2))]},
        canonical=lambda spec: spec["letter"],
        split=lambda spec: "train",
    ),
    wordings=Wordings(compact=lambda spec: "d", natural=lambda spec: "d", solve=lambda spec: Solution(spec["letter"])),
    checker=Checker(
        check=lambda spec, text: Verdict.ok(text) if text[-1:] == spec["letter"] else Verdict.fail("wrong", answer=text)
    ),
    abilities=(),
    world=WORLD,
)
"""The prompt is the same whatever the letter is: who does not ask is right every second time at best."""
