"""A picture of coloured cells with digits, and a question about the cells of one colour. The picture is drawn here.

Every instance is a problem in eight variants, as in We-Math 2.0 (2508.10433). The base asks about 2 x 2 cells. Three
things make it harder, alone or together: x, the question is told with names that a key explains; y, there is more to
see, 3 x 3 cells; z, one more step of calculation follows. Level 1 is the base, and level
1 + x + 2y + 4z has x, y and z.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from assay.policy.config import EyeShape
from assay.rng import digest
from assay.tasks.abilities import OtherLevels, OwnBase
from assay.tasks.task import SPLITS, Checker, Generator, Solution, Spec, Split, Task, Wordings
from assay.types import Verdict

SIDE, CELL = 3, 8  # cells in a row of the largest grid, pixels of a cell
COLOURS: Mapping[str, tuple[int, int, int]] = {
    "red": (230, 60, 60),
    "green": (60, 190, 80),
    "blue": (70, 110, 240),
    "yellow": (235, 215, 70),
}
KINDS: Mapping[str, str] = {
    "count": "How many cells are {}?",
    "sum": "What is the sum of the digits in the cells that are {}?",
    "top": "What is the largest digit in the cells that are {}?",
}
THINGS = "abcd"
LONGEST = 12  # characters of an answer
GLYPHS: Mapping[int, tuple[int, ...]] = {  # five rows of three pixels, each as the bits of a number
    1: (2, 6, 2, 2, 7),
    2: (7, 1, 7, 4, 7),
    3: (7, 1, 7, 1, 7),
    4: (5, 5, 7, 1, 1),
    5: (7, 4, 7, 1, 7),
    6: (7, 4, 7, 5, 7),
    7: (7, 1, 1, 2, 2),
    8: (7, 5, 7, 5, 7),
    9: (7, 5, 7, 1, 7),
}


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """A problem in all its variants, of which the level shows one. A cell of the colour is among the first 2 x 2."""
    names = list(COLOURS)
    colours = generator.integers(len(names), size=(SIDE, SIDE))
    digits = generator.integers(1, 10, size=(SIDE, SIDE))
    colour = names[colours[tuple(generator.integers(SIDE - 1, size=2))]]
    cells = [[[names[c], int(d)] for c, d in zip(*row)] for row in zip(colours, digits)]
    things = dict(zip(names, (THINGS[i] for i in generator.permutation(len(names)))))
    times, plus = (int(number) for number in generator.integers(2, 5, size=2))
    kind = list(KINDS)[generator.integers(len(KINDS))]
    drawn = {"kind": kind, "colour": colour, "cells": cells, "things": things, "then": [times, plus]}
    return variant(drawn, level)


def variant(spec: Spec, level: int) -> Spec:
    """The same problem at another level."""
    return {**spec, "told": bool(level - 1 & 1), "wide": bool(level - 1 & 2), "more": bool(level - 1 & 4)}


def _side(spec: Spec) -> int:
    return SIDE if spec["wide"] else SIDE - 1


def _digits(spec: Spec) -> list[int]:
    """The digits of the cells of the colour, as one reads."""
    side = _side(spec)
    return [digit for row in spec["cells"][:side] for colour, digit in row[:side] if colour == spec["colour"]]


def _seen(spec: Spec) -> str:
    """The picture in letters: `Ar3Bb1Dg2Er2` names each cell by a letter, and says its colour and its digit."""
    side = range(_side(spec))
    cells = ((chr(ord("A") + SIDE * i + j), *spec["cells"][i][j]) for i in side for j in side)
    return "".join(f"{name}{colour[0]}{digit}" for name, colour, digit in cells)


def picture(spec: Spec) -> np.ndarray:
    """uint8[24, 24, 3]: the cells from the top left, each with its digit in white on its colour; the rest is black."""
    pixels = np.zeros((SIDE * CELL, SIDE * CELL, 3), np.uint8)
    for i, row in enumerate(spec["cells"][: _side(spec)]):
        for j, (colour, digit) in enumerate(row[: _side(spec)]):
            cell = pixels[i * CELL : (i + 1) * CELL, j * CELL : (j + 1) * CELL]
            cell[:] = COLOURS[colour]
            for y, bits in enumerate(GLYPHS[digit], 1):
                for x in range(3):
                    if bits & 4 >> x:
                        cell[y, 2 + x] = 255
    return pixels


def _canonical(spec: Spec) -> str:
    key = "".join(f" {spec['things'][c]}={c}" for c in COLOURS) if spec["told"] else ""
    return f"{spec['kind']} {spec['colour']} {_seen(spec)}{key}{' {} {}'.format(*spec['then']) if spec['more'] else ''}"


def _split(spec: Spec) -> Split:
    """All variants of a problem are in one split, that of the base."""
    bucket = int(digest("split", "grids", _canonical(variant(spec, 1))), 16) % 100
    return next(split for split, buckets in SPLITS.items() if bucket in buckets)


def _compact(spec: Spec) -> str:
    asked = spec["things"][spec["colour"]] if spec["told"] else spec["colour"][0]
    key = " ".join(f"{colour[0]}={thing}" for colour, thing in spec["things"].items())
    question = f"{key}: {spec['kind']} {asked}" if spec["told"] else f"{spec['kind']} {asked}"
    return f"{question} *{spec['then'][0]}+{spec['then'][1]}" if spec["more"] else question


def _natural(spec: Spec) -> str:
    asked, story = spec["colour"], "The picture shows cells with digits. "
    if spec["told"]:
        asked = f"those of shop {spec['things'][spec['colour']].upper()}"
        owned = ", ".join(f"shop {thing.upper()} has the {colour} ones" for colour, thing in spec["things"].items())
        story = f"The picture shows the shelf of four shops, as cells with the number of goods: {owned}. "
    question = story + KINDS[spec["kind"]].format(asked)
    if spec["more"]:
        question += " Multiply this number by {}, and add {}.".format(*spec["then"])
    return f"{question} Give the number in \\boxed{{...}}."


def _value(spec: Spec) -> int:
    """The number that is asked for, before the further step."""
    digits = _digits(spec)
    return {"count": len(digits), "sum": sum(digits), "top": max(digits)}[spec["kind"]]


def _solve(spec: Spec) -> Solution:
    """The worked solution: the cells row by row, the digits of the cells that are asked for, and the results."""
    value, steps = _value(spec), f"{_seen(spec)}|{','.join(map(str, _digits(spec)))}"
    if not spec["more"]:
        return Solution(str(value), steps=steps)
    times, plus = spec["then"]
    return Solution(str(times * value + plus), steps=f"{steps}|{value},{times * value}")


def _check(spec: Spec, text: str) -> Verdict:
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST):
        return Verdict.fail("format", f"a whole number is expected, of at most {LONGEST} digits")
    right = int(_solve(spec).answer)
    return Verdict.ok(str(right)) if int(text) == right else Verdict.fail("wrong", answer=str(int(text)))


GRIDS = Task(
    name="grids",
    domain="pictures",
    summary="Count, add or compare the digits of one colour in a picture of cells; level 1 + x + 2y + 4z has a key of "
    "names (x), more cells (y) and one more step (z).",
    generator=Generator(levels=range(1, 9), instance=_instance, canonical=_canonical, split=_split),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve, picture=picture),
    checker=Checker(check=_check),
    abilities=(
        OtherLevels(at=variant),
        OwnBase(
            "questions about pictures of coloured cells with digits, in their plain variants; it sees",
            levels=(1, 2, 3, 5),
            num_steps=240,
            context=128,
            hidden=96,
            layers=3,
            ffn=256,
            learning_rate=1.2e-3,
            eye=EyeShape(side=24, patch=8, hidden=64, layers=1, heads=4),
        ),
    ),
)
