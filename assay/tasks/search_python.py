"""Numbers of names that stand in pages alone: a policy has a search, pages to open, and Python at once.

A question names the way to a name, as those of `search` do, and what to compute of it: the name is read as a number in
base 36, and its power is divided by a prime. No page tells the number, and no network computes it.

In compact wording `num Dakif bS^7%101` is solved by `[o Dakif]...[s s Hikon]...[python int('Reger',36)**7%101]100#100`.
`search-python` has pages in sentences, and is for language models.
"""

from __future__ import annotations

import re

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.interpreter import PRIMES
from assay.tasks.search import question_of, walk, worked_calls
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict
from assay.worlds import Ask, Line, World
from assay.worlds.interpreter import LINE, interpreter
from assay.worlds.search import SHORT, TOLD, Index, Manner, called, made, opened, page_tools, searching
from assay.worlds.speech import TAGS

_ANSWER = re.compile(r"[0-9]{1,3}")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def value_of(spec: Spec) -> int:
    """name^power mod modulus of the name in base 36, by digits and by multiplication."""
    number, value = 0, 1
    for letter in spec["answer"].lower():
        number = (number * 36 + _DIGITS.index(letter)) % spec["modulus"]
    for _ in range(spec["power"]):
        value = value * number % spec["modulus"]
    return value


def _instance(generator: np.random.Generator, level: int) -> Spec:
    found = walk(generator, level)
    power, modulus = int(generator.integers(5, 60)), PRIMES[int(generator.integers(len(PRIMES)))]
    return {**found, "power": power, "modulus": modulus}


def _canonical(spec: Spec) -> str:
    return f"{spec['start']} {spec['ways']}^{spec['power']}%{spec['modulus']}"


def _program(spec: Spec) -> str:
    return f"int('{spec['answer']}',36)**{spec['power']}%{spec['modulus']}"


def _natural(spec: Spec, world: World) -> str:
    about = "" if world.speech is None else world.speech.about(world.tools)
    asked = question_of(spec).removeprefix("What is the name of ").removesuffix("?")
    return (
        f"Read the name of {asked} as a number in base 36, as int(name, 36) does in Python. What is the remainder when "
        f"its power with exponent {spec['power']} is divided by {spec['modulus']}? The name stands in pages that you "
        f"can search and open.\n{about}\nGive the number alone in \\boxed{{...}}."
    )


def _check(spec: Spec, text: str) -> Verdict:
    answer = text.strip() if len(text) <= 32 else ""
    if _ANSWER.fullmatch(answer) is None:
        return Verdict.fail("format", "expected a number from 0 to 999")
    return Verdict.ok(answer) if int(answer) == value_of(spec) else Verdict.fail("wrong", answer=answer)


def _task(name: str, manner: Manner, pages: str, *, summary: str, mark: str, base: tuple[OwnBase, ...] = ()) -> Task:
    speech = LINE if manner is SHORT else TAGS

    def index() -> Index:
        return opened(made(pages))

    alone = searching(index, manner)
    world = interpreter(speech=speech, natural=speech, beside=page_tools(index, manner))

    def solve(spec: Spec) -> Solution:
        """Pages first, then the program, whose value is known without running it."""
        calls = worked_calls(spec, short=manner is SHORT)
        assert alone.speech is not None and world.speech is not None
        program = world.speech.call("python", {"program": _program(spec)}, world.tools)
        value = str(value_of(spec))
        return Solution(value, called(alone, spec, calls) + program + world.written(Ask(say=(Line(value),))))

    return Task(
        name=name,
        domain="tools",
        summary=summary,
        generator=Generator(levels=range(1, 5), instance=_instance, canonical=_canonical),
        wordings=Wordings(
            compact=lambda spec: f"{mark} {_canonical(spec)}",
            natural=lambda spec: _natural(spec, world),
            solve=solve,
        ),
        checker=Checker(check=_check),
        abilities=base,
        world=world,
    )


SEARCH_PYTHON = _task(
    "search-python",
    TOLD,
    "told",
    summary="Find a name in English pages and compute a number of it with Python; the level is the number of facts.",
    mark="number",
)
SEARCH_PYTHON_SMALL = _task(
    "search-python-small",
    SHORT,
    "short",
    summary="Find a name in pages of a few characters and compute a number of it; the level is the number of facts.",
    mark="num",
    base=(OwnBase("a number of a name that one fact leads to", levels=(1,), num_steps=120, context=256),),
)
