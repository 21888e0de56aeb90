"""Binario: fill a square with 0 and 1, as many of each in every row and column, and never three alike in a row.

Every square that keeps the rules and the given cells is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.grids import read_bits, written
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

HIDDEN = {1: (4, 4), 2: (4, 7), 3: (4, 10), 4: (6, 14), 5: (6, 20), 6: (6, 26)}  # level -> (side, empty cells)

Rows = list[list[int]]


def _instance(generator: np.random.Generator, level: int) -> Spec:
    size, hidden = HIDDEN[level]
    draws = generator.random(2 * size * size).tolist()
    full = next(fillings([["."] * size for _ in range(size)], draws[: size * size]))
    cells = sorted(range(size * size), key=lambda cell: draws[size * size + cell])[:hidden]
    rows = [["." if size * r + c in cells else str(full[r][c]) for c in range(size)] for r in range(size)]
    return {"rows": ["".join(row) for row in rows]}


def fillings(rows: Sequence[Sequence[str]], draws: Sequence[float]) -> Iterator[Rows]:
    """All right squares that keep the given cells; of an empty cell 1 is tried first where its draw is below 1/2."""
    size = len(rows)
    square: Rows = [[-1] * size for _ in range(size)]

    def fits(r: int, c: int) -> bool:
        lines = ([square[r][k] for k in range(c + 1)], [square[k][c] for k in range(r + 1)])
        return all(line[-3:] not in ([0] * 3, [1] * 3) and line.count(line[-1]) <= size // 2 for line in lines)

    def fill(cell: int) -> Iterator[Rows]:
        if cell == size * size:
            yield [list(row) for row in square]
            return
        r, c = divmod(cell, size)
        given, first = rows[r][c], int(draws[cell] < 0.5)
        for value in (first, 1 - first) if given == "." else (int(given),):
            square[r][c] = value
            if fits(r, c):
                yield from fill(cell + 1)
        square[r][c] = -1

    return fill(0)


def broken(rows: Rows) -> str:
    """Which rule a square breaks; "" if it keeps all."""
    for what, lines in (("row", rows), ("column", [list(column) for column in zip(*rows)])):
        for number, line in enumerate(lines, 1):
            if 2 * sum(line) != len(line):
                return f"{what} {number} has not as many 0 as 1"
            if any(line[i] == line[i + 1] == line[i + 2] for i in range(len(line) - 2)):
                return f"{what} {number} has three alike in a row"
    return ""


def _natural(spec: Spec) -> str:
    size = len(spec["rows"])
    grid = "\n".join(spec["rows"])
    return (
        f"Fill the empty cells (.) of this square with 0 and 1:\n\n{grid}\n\nEvery row and every column must have as "
        "many 0 as 1, and must not have three equal digits next to each other. The given digits stay. Give all "
        f"{size} rows, from the top, separated by '/', in \\boxed{{...}}, for example \\boxed{{01/10}} for a square of "
        "two rows."
    )


def _solve(spec: Spec) -> Solution:
    return Solution(written(next(fillings(spec["rows"], [1.0] * len(spec["rows"]) ** 2))))


def _check(spec: Spec, text: str) -> Verdict:
    rows = read_bits(text, len(spec["rows"]))
    if isinstance(rows, str):
        return Verdict.fail("format", rows)
    answer = written(rows)
    for r, (row, given) in enumerate(zip(rows, spec["rows"], strict=True), 1):
        if any(mark not in (".", str(cell)) for cell, mark in zip(row, given, strict=True)):
            return Verdict.fail("wrong", f"a given digit of row {r} has changed", answer)
    why = broken(rows)
    return Verdict.fail("wrong", why, answer) if why else Verdict.ok(answer)


BINARIO = Task(
    name="binario",
    domain="puzzles",
    summary=(
        "Fill a square with as many 0 as 1 in each line; levels 1 to 3 four rows with 4, 7 and 10 empty cells, 4 to 6 "
        "six rows with 14, 20 and 26."
    ),
    generator=Generator(levels=range(1, 7), instance=_instance, canonical=lambda spec: "/".join(spec["rows"])),
    wordings=Wordings(compact=lambda spec: f"b {'/'.join(spec['rows'])}", natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(OwnBase("squares of four rows with four empty cells", levels=(1,), num_steps=60),),
)
