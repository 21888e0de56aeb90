"""Kakurasu: blacken cells so that the places of the black cells of each row and column sum up to given numbers.

The cell in place k of a row counts k, and so does that in place k of a column. Every square with these sums is right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.grids import read_bits, written
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict


def _instance(generator: np.random.Generator, level: int) -> Spec:
    cells = (generator.random((level, level)) < 0.5).astype(int).tolist()
    return sums_of(cells)


def sums_of(rows: Sequence[Sequence[int]]) -> dict[str, list[int]]:
    """The sums of all rows, and those of all columns."""
    return {"rows": [_sum(row) for row in rows], "columns": [_sum(column) for column in zip(*rows)]}


def _sum(line: Sequence[int]) -> int:
    return sum(place for place, cell in enumerate(line, 1) if cell)


def _lines(total: int, size: int) -> list[list[int]]:
    """All lines whose black cells sum up to a number."""
    every = ([bits >> k & 1 for k in range(size)] for bits in range(1 << size))
    return [line for line in every if _sum(line) == total]


def _solve(spec: Spec) -> Solution:
    """Row by row; a row is taken back when a column has become too large or can no longer reach its sum."""
    size = len(spec["rows"])
    lines: list[list[int]] = []
    left = list(spec["columns"])

    def fill(r: int) -> bool:
        if r == size:
            return not any(left)
        rest = sum(range(r + 2, size + 1))
        for line in _lines(spec["rows"][r], size):
            after = [missing - (r + 1) * cell for missing, cell in zip(left, line, strict=True)]
            if all(0 <= missing <= rest for missing in after):
                before, left[:] = left[:], after
                lines.append(line)
                if fill(r + 1):
                    return True
                lines.pop()
                left[:] = before
        return False

    assert fill(0)
    return Solution(written(lines))


def _natural(spec: Spec) -> str:
    size = len(spec["rows"])
    rows, columns = (", ".join(map(str, spec[name])) for name in ("rows", "columns"))
    return (
        f"Blacken cells of a square with {size} rows and {size} columns. A black cell counts its place: in its row the "
        f"number of its column, in its column the number of its row, both counted from 1. The rows must sum up to "
        f"{rows}, from the top, and the columns to {columns}, from the left. Give all rows, from the top, with 1 for "
        "black and 0 for white, separated by '/', in \\boxed{...}, for example \\boxed{01/11} for sums of rows 2, 3 "
        "and of columns 2, 3."
    )


def _check(spec: Spec, text: str) -> Verdict:
    rows = read_bits(text, len(spec["rows"]))
    if isinstance(rows, str):
        return Verdict.fail("format", rows)
    answer, sums = written(rows), sums_of(rows)
    for what in ("rows", "columns"):
        for number, (found, wanted) in enumerate(zip(sums[what], spec[what], strict=True), 1):
            if found != wanted:
                return Verdict.fail("wrong", f"number {number} of the {what} sums up to {found}", answer)
    return Verdict.ok(answer)


def _written(spec: Spec) -> str:
    return "/".join(" ".join(map(str, spec[name])) for name in ("rows", "columns"))


KAKURASU = Task(
    name="kakurasu",
    domain="puzzles",
    summary="Blacken cells whose places sum up to given numbers; the level is the side of the square.",
    generator=Generator(levels=range(3, 7), instance=_instance, canonical=_written),
    wordings=Wordings(compact=lambda spec: f"k {_written(spec)}", natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(OwnBase("squares of three rows", levels=(3,), num_steps=50),),
)
