"""A task whose solutions have steps, in seven signs: for tests of hints, prefixes and teachers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tiny import END, phases_of, policy

import assay.tasks
from assay.assemble import Phases
from assay.engine.local import LocalEngine
from assay.recipe import Recipe
from assay.source import Pool, Share
from assay.tasks.task import Checker, Generator, Solution, Task, Wordings
from assay.types import Verdict

NAME = "worked"
POOL = Pool((Share(NAME, (2, 3)),))


class Signs:
    """A codec of one token a sign; token 0 ends an answer."""

    signs = "ab,#[] "
    vocab = 1 + len(signs)
    end_ids = frozenset({END})
    stops: tuple[str, ...] = ()

    def render(self, prompt: Any) -> np.ndarray:
        return self.encode(f"{prompt} ")

    def encode(self, text: str) -> np.ndarray:
        return np.array([1 + self.signs.index(sign) for sign in text], dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.signs[i - 1] if i else "." for i in ids)


def _instance(generator: np.random.Generator, level: int) -> dict[str, Any]:
    return {"letters": "".join("ab"[int(i)] for i in generator.integers(2, size=level))}


TASK = Task(
    name=NAME,
    domain="letters",
    summary="an answer that holds the last letter of the question; the steps are its letters",
    generator=Generator(
        levels=range(1, 5), instance=_instance, canonical=lambda spec: spec["letters"], split=lambda spec: "train"
    ),
    wordings=Wordings(
        compact=lambda spec: spec["letters"],
        natural=lambda spec: spec["letters"],
        solve=lambda spec: Solution(spec["letters"][-1], ",".join(spec["letters"])),
        others=lambda spec: [Solution(spec["letters"][-1]), Solution(spec["letters"][-1], "[]")],
    ),
    checker=Checker(
        check=lambda spec, answer: Verdict.ok(answer) if answer == spec["letters"][-1] else Verdict.fail("wrong")
    ),
)


def register(patch: pytest.MonkeyPatch, task: Task = TASK) -> None:
    patch.setitem(assay.tasks.TASKS, NAME, task)


def world(recipe: Recipe) -> Phases:
    return phases_of(recipe, pool=POOL, codec=Signs())


def beginner() -> LocalEngine:
    """It ends an answer, right or wrong, about as often as it writes any sign."""
    return policy("fp32", vocab=Signs.vocab, hidden=16, ffn=16, context=64, init_std=0.3)
