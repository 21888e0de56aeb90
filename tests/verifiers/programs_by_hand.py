"""Linear programs by enumeration, without a solver and without the package: the oracle of the verifier's tests.

A program is (maximises, costs, rows, wholes): rows are (coefficients, comparison, bound) over variables from 0 upwards.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

Row = tuple[tuple[Fraction, ...], str, Fraction]
By = tuple[bool, tuple[Fraction, ...], tuple[Row, ...], bool]


def holds(row: Row, point: Sequence[Fraction]) -> bool:
    value = sum(a * x for a, x in zip(row[0], point, strict=True))
    return value <= row[2] if row[1] == "<=" else value >= row[2] if row[1] == ">=" else value == row[2]


def corners(rows: Sequence[Row], count: int) -> frozenset[tuple[Fraction, ...]]:
    """All corners of the region, by solving every choice of `count` rows and axes as equations."""
    unit = [tuple(Fraction(i == j) for j in range(count)) for i in range(count)]
    walls = [(row[0], row[2]) for row in rows] + [(axis, Fraction(0)) for axis in unit]
    found = set()
    for chosen in itertools.combinations(walls, count):
        point = solved([[*a, b] for a, b in chosen])
        if point is not None and min(point) >= 0 and all(holds(row, point) for row in rows):
            found.add(point)
    return frozenset(found)


def solved(matrix: list[list[Fraction]]) -> tuple[Fraction, ...] | None:
    """The solution of linear equations by elimination; None if there is not exactly one."""
    count = len(matrix)
    for i in range(count):
        pivot = next((r for r in range(i, count) if matrix[r][i]), None)
        if pivot is None:
            return None
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        matrix[i] = [value / matrix[i][i] for value in matrix[i]]
        for r in range(count):
            if r != i:
                matrix[r] = [a - matrix[r][i] * b for a, b in zip(matrix[r], matrix[i], strict=True)]
    return tuple(row[-1] for row in matrix)


def points(rows: Sequence[Row], count: int, side: int) -> frozenset[tuple[Fraction, ...]]:
    """All points of whole numbers from 0 to `side`."""
    grid = itertools.product(map(Fraction, range(side + 1)), repeat=count)
    return frozenset(point for point in grid if all(holds(row, point) for row in rows))


def same(one: By, other: By, *, side: int) -> bool:
    """Whether two programs have the same region and are worth the same everywhere in it.

    Regions of whole numbers are compared within a grid, other regions by their corners and by the directions in which
    they have no end, which the corners of the region cut by a far wall show.
    """
    if one[3] != other[3]:
        return False
    count = len(one[1])
    wall: Row = (tuple(Fraction(1) for _ in range(count)), "<=", Fraction(1000))
    if one[3]:
        mine, theirs = points(one[2], count, side), points(other[2], count, side)
    else:
        mine, theirs = corners((*one[2], wall), count), corners((*other[2], wall), count)
    turned = 1 if one[0] == other[0] else -1
    worth = [sum((a - turned * b) * x for a, b, x in zip(one[1], other[1], p, strict=True)) for p in mine]
    return mine == theirs and not any(worth)


def written(number: Fraction) -> str:
    return str(number if number.denominator == 1 else float(number))


def text(program: By) -> str:
    """As a person would write it."""
    maximises, costs, rows, wholes = program
    names = "xyz"[: len(costs)]

    def linear(numbers: Sequence[Fraction]) -> str:
        return " ".join(
            f"{'+' if n >= 0 else '-'} {written(abs(n))} {name}" for n, name in zip(numbers, names, strict=True)
        )

    lines = ["Maximize" if maximises else "Minimize", f" obj: {linear(costs)}", "Subject To"]
    lines += [f" c{i}: {linear(row[0])} {row[1]} {written(row[2])}" for i, row in enumerate(rows)]
    lines += ["General", f" {' '.join(names)}"] if wholes else []
    return "\n".join([*lines, "End"])
