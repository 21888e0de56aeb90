"""Plan a picture in words, see its outline, then draw it: an answer of two turns, both of which a program checks.

The question names boxes by colour, width, height and corner, in the order in which they are painted. The plan says
which rows and columns each of them covers: `[a01.02 b33.13]` of a box a in rows 0 to 1 and columns 0 to 2, and a box b
in row 3 and columns 1 to 3. The reply is a rendering of the plan in 0 and 1, without colours. Then the picture is
drawn with its colours. A later box covers an earlier one.

The scores of a verdict: `plan-outline` and `plan-boxes` of the plan, `cells` and `agreement` of the drawing.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict
from assay.verifiers.answers import find_answer
from assay.worlds import COMPACT, Act, Ask, Line, Reply, World, takes_text

SIDE = 4
ERROR = "!"
COLOURS = {"a": "amber", "b": "blue", "c": "cyan", "d": "denim"}
CORNERS = {"nw": "top left", "ne": "top right", "sw": "bottom left", "se": "bottom right"}
EMPTY = "."
MOST = 100  # characters of a drawing, and of a plan four times as many

_PART = re.compile(r"([a-d])([0-9])([0-9])\.([0-9])([0-9])")
_WORDS = re.compile(r"(amber|blue|cyan|denim) rows ([0-9])-([0-9]) columns ([0-9])-([0-9])")

Box = tuple[str, int, int, int, int]  # colour, first and last row, first and last column
Rows = list[str]


def placed(shape: Sequence[object]) -> Box:
    """The box that a shape of the question is: `["a", 3, 2, "nw"]` is 3 wide, 2 high, and in the corner of row 0."""
    colour, width, height, corner = str(shape[0]), int(str(shape[1])), int(str(shape[2])), str(shape[3])
    top = 0 if corner[0] == "n" else SIDE - height
    left = 0 if corner[1] == "w" else SIDE - width
    return colour, top, top + height - 1, left, left + width - 1


def painted(boxes: Sequence[Box]) -> Rows:
    """The rows of the picture, in which a later box covers an earlier one."""
    cells = [[EMPTY] * SIDE for _ in range(SIDE)]
    for colour, top, bottom, left, right in boxes:
        for row in range(top, bottom + 1):
            cells[row][left : right + 1] = [colour] * (right + 1 - left)
    return ["".join(row) for row in cells]


def planned(text: str) -> list[Box] | None:
    """The boxes of the plan in a response, which is the first text in brackets; None if there is none to be read."""
    plan, end, _ = text[: 4 * MOST].partition("[")[2].partition("]")
    found: list[Box] = []
    for part in plan.split("; " if ";" in plan or "rows" in plan else " "):
        match = (_PART.fullmatch(part) or _WORDS.fullmatch(part)) if end else None
        if match is None:
            return None
        top, bottom, left, right = (int(digit) for digit in match.groups()[1:])
        if not (top <= bottom < SIDE and left <= right < SIDE):
            return None
        found.append((match[1][0], top, bottom, left, right))
    return found


def outline(rows: Rows) -> str:
    """The outline of a picture, 1 for each cell that is covered: `1100/1100/0000/0000`."""
    return "/".join("".join("01"[cell != EMPTY] for cell in row) for row in rows)


@dataclass
class Canvas:
    """A play in which one plan is drawn: the outline of the plan follows it, and a second plan ends the answer."""

    drawn: bool = False

    def open(self) -> Reply:
        return Reply(Ask())

    def step(self, act: Act) -> Reply:
        if self.drawn or act.text.count("]") != 1:
            return Reply(end="ended")
        self.drawn, boxes = True, planned(act.text)
        return Reply(Ask(say=(Line(ERROR if boxes is None else outline(painted(boxes))),)), failed=boxes is None)

    def judge(self) -> Mapping[str, Verdict]:
        return {}

    def save(self) -> bytes:
        return b"drawn" if self.drawn else b""

    def close(self) -> None:
        """It holds nothing."""


def _target(spec: Spec) -> Rows:
    return painted([placed(shape) for shape in spec["shapes"]])


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """As many boxes as the level says, all of which are seen in the end."""
    while True:
        colours = [list(COLOURS)[i] for i in generator.permutation(len(COLOURS))[:level]]
        shapes = [
            [colour, *generator.integers(1, SIDE, size=2).tolist(), list(CORNERS)[int(generator.integers(4))]]
            for colour in colours
        ]
        if set(colours) <= set("".join(_target({"shapes": shapes}))):
            return {"shapes": shapes}


def _canonical(spec: Spec) -> str:
    return " ".join("".join(map(str, shape)) for shape in spec["shapes"])


def _natural(spec: Spec) -> str:
    wishes = "; ".join(
        f"{COLOURS[colour]}, {width} wide and {height} high, {CORNERS[corner]}"
        for colour, width, height, corner in spec["shapes"]
    )
    return (
        f"A picture has {SIDE} rows and {SIDE} columns. Boxes are painted on it one after the other, each in a corner, "
        f"and a later box covers an earlier one: {wishes}. First plan the picture in square brackets: the rows and "
        "columns of each box, counted from 0, like [amber rows 0-1 columns 0-2; blue rows 3-3 columns 1-3]. You are "
        "shown the outline of your plan. Then draw the picture: its rows from the top, separated by '/', each cell the "
        "first letter of its colour or '.' if it is empty, in \\boxed{...}, for example "
        "\\boxed{aaa./aaa./..../.bbb}."
    )


def _solve(spec: Spec) -> Solution:
    boxes = [placed(shape) for shape in spec["shapes"]]
    short = " ".join(f"{c}{top}{bottom}.{left}{right}" for c, top, bottom, left, right in boxes)
    words = "; ".join(f"{COLOURS[c]} rows {t}-{b} columns {left}-{r}" for c, t, b, left, r in boxes)
    shown = outline(painted(boxes))
    return Solution("/".join(_target(spec)), f"[{short}]{shown}", f"[{words}]{shown}")


def drawn(text: str) -> Rows | None:
    """The rows of a drawing; None if it is none."""
    rows = text.strip().split("/") if len(text) <= MOST else []
    good = len(rows) == SIDE and all(re.fullmatch(f"[{''.join(COLOURS)}{re.escape(EMPTY)}]{{{SIDE}}}", r) for r in rows)
    return rows if good else None


def _check(spec: Spec, text: str) -> Verdict:
    rows = drawn(text)
    if rows is None:
        return Verdict.fail("format", f"expected {SIDE} rows of {SIDE} cells")
    answer = "/".join(rows)
    return Verdict.ok(answer) if rows == _target(spec) else Verdict.fail("wrong", answer=answer)


def scores(spec: Spec, text: str, answer: str | None) -> dict[str, float]:
    """`plan-outline`: of the cells that plan or picture covers, the share that both cover. `plan-boxes`: the share of
    boxes whose colour, rows and columns are as asked, in their order. `cells`: of the cells that the picture or the
    drawing covers, the share with the same colour. `agreement`: as `plan-outline`, of the drawing and the plan.
    """
    target, boxes, rows = _target(spec), planned(text), drawn(answer or "")
    wanted = [placed(shape) for shape in spec["shapes"]]
    kept = 0 if boxes is None else sum(one == other for one, other in zip(boxes, wanted, strict=False))
    plan = None if boxes is None else painted(boxes)
    return {
        "plan-outline": _overlap(plan, target, colours=False),
        "plan-boxes": kept / max(len(wanted), len(boxes or ())),
        "cells": _overlap(rows, target, colours=True),
        "agreement": _overlap(rows, plan, colours=False),
    }


def _overlap(one: Rows | None, other: Rows | None, *, colours: bool) -> float:
    """Of the cells that either covers, the share in which both are alike: in colour, or in being covered."""
    if one is None or other is None:
        return 0.0
    pairs = [pair for pair in zip("".join(one), "".join(other), strict=True) if set(pair) != {EMPTY}]
    alike = [a == b if colours else EMPTY not in (a, b) for a, b in pairs]
    return sum(alike) / len(alike) if alike else 0.0


def _verify_all(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """The verdicts on whole responses, with the scores of both turns."""

    def one(problem: Problem, text: str) -> Verdict:
        answer = find_answer(text, problem.wording)
        if not answer:
            found = Verdict.fail("format" if answer is None else "empty", "no marked answer")
        else:
            found = _check(problem.spec, answer)
        return dataclasses.replace(found, scores=scores(problem.spec, text, answer))

    return [one(problem, text) for problem, text in pairs]


DRAWING = Task(
    name="drawing",
    domain="pictures",
    summary="Plan boxes of a picture in words, see the outline, then draw them; the level is the number of boxes.",
    generator=Generator(levels=range(1, 5), first=2, instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=lambda spec: f"p {_canonical(spec)}", natural=_natural, solve=_solve),
    checker=Checker(check=_check, verify_many=_verify_all),
    abilities=(OwnBase("pictures of two boxes, planned and drawn", levels=(2,), num_steps=60, context=128),),
    world=World(
        start=lambda spec, key: Canvas(),
        speech=COMPACT,
        tools=(takes_text("draw", "plan"),),
        resume=lambda spec, key, saved: Canvas(bool(saved)),
        fork="save",
    ),
)
