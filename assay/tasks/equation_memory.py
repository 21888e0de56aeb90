"""Equations in two contexts: after some tries a solver forgets them all, and reads the best formulas so far instead.

Problems, formulas, fits and verdicts are those of `equation`; only what is read differs. A long search thus needs no
long context (SR-Scientist, 2510.11661).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.rng import Key
from assay.tasks.equation import EQUATION, TRIED, in_percent, question
from assay.types import Verdict
from assay.worlds import Act, Ask, Line, Play, Reply, Spec, World
from assay.worlds.tools import ToolPlay

BEST = 3  # formulas that are read of those tried before
TOGETHER = 3  # tries in one context
_MARK = "f "  # how what is read anew begins


def best_of(tried: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """The formulas with the least errors at the points that are shown, the best first, each once."""
    least: dict[str, float] = {}
    for formula, error in tried:
        least[formula] = min(error, least.get(formula, error))
    return sorted(least.items(), key=lambda pair: pair[1])[:BEST]


def read_anew(spec: Spec, tried: Sequence[tuple[str, float]]) -> str:
    """The question and the best formulas, in compact wording: "f 3 7 11 15 19;c0*x 8.1%"."""
    points = " ".join(f"{number:.5g}" for number in spec["shown"])
    return ";".join([_MARK + points, *(f"{formula} {in_percent(error)}" for formula, error in best_of(tried))])


def in_english(line: str) -> str:
    """A line of the world as language models read it; replies stay as they are."""
    if not line.startswith(_MARK):
        return line
    points, *formulas = line.removeprefix(_MARK).split(";")
    asked = question([float(number) for number in points.split()])
    if not formulas:
        return f"{asked}\n\nNone of the formulas that you have tried could be fitted."
    told = "\n".join(formulas)
    return f"{asked}\n\nThe best formulas that you have tried, each with its error:\n{told}\nFind a better one."


@dataclass
class _Remembered:
    """A play of `equation` in which a solver reads the best formulas anew after each `TOGETHER` tries."""

    inner: ToolPlay

    def open(self) -> Reply:
        return self.inner.open()

    def step(self, act: Act) -> Reply:
        reply, scene = self.inner.step(act), self.inner.scene
        if reply.ask is None or scene.calls % TOGETHER:
            return reply
        told = read_anew(scene.spec, scene.state.get(TRIED, ()))
        return dataclasses.replace(reply, ask=Ask(say=(Line(told, "user"),), context="replace"))

    def judge(self) -> Mapping[str, Verdict]:
        return self.inner.judge()

    def save(self) -> bytes:
        return self.inner.save()

    def close(self) -> None:
        self.inner.close()


def _remembering(world: World) -> World:
    def start(spec: Spec, key: Key) -> Play:
        return _remembered(world.start(spec, key))

    def resume(spec: Spec, key: Key, saved: bytes) -> Play:
        assert world.resume is not None
        return _remembered(world.resume(spec, key, saved))

    return dataclasses.replace(world, start=start, resume=resume, worded=in_english)


def _remembered(play: Play) -> Play:
    assert isinstance(play, ToolPlay)
    return _Remembered(play)


assert EQUATION.world is not None
EQUATION_MEMORY = dataclasses.replace(
    EQUATION,
    name="equation-memory",
    summary=(
        "Find a formula as in equation, with a context that begins anew after three tries, with the three best "
        "formulas so far; levels as those of equation."
    ),
    generator=dataclasses.replace(EQUATION.generator, split=EQUATION.split_of),
    abilities=(),
    world=_remembering(EQUATION.world),
)
