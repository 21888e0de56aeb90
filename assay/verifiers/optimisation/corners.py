"""Whether two linear programs are the same, decided without a solver: by their corners, or by all whole points.

A corner is a point where as many rows and bounds meet as there are variables. If two programs with real variables
differ within the box, then one of their corners is allowed by one program alone. Programs with whole variables are
compared at all whole points of a small box, and far away along the axes and diagonals.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from assay.verifiers.optimisation.program import Constraint, Program

FAR = 10_000  # half the side of the box for real variables
MOST_PLANES = 20  # rows and bounds of two programs and of the box, each counted once
MOST_VARIABLES = 3

Plane = tuple[tuple[Fraction, ...], Fraction]  # coefficients in the order of the variables, and the bound


class TooLarge(ValueError):
    """The programs have too many variables or rows to compare all their corners."""


def difference(gold: Program, one: Program) -> str:
    """The difference between two programs; "" if there is none.

    difference(read("max a+b;a+b<=4"), read("max b+a;2a+2b<=8"))  # ""
    """
    names = gold.variables
    if names != one.variables:
        return f"the variables are {', '.join(names)}, not {', '.join(one.variables)}"
    if len(names) > MOST_VARIABLES:
        raise TooLarge(f"{len(names)} variables, at most {MOST_VARIABLES} can be compared")
    turned = 1 if gold.maximises == one.maximises else -1
    wanted, came = ([p.objective.get(n, Fraction(0)) for n in names] for p in (gold, one))
    if wanted != [turned * value for value in came] or gold.constant != turned * one.constant:
        return "its objective is another one"
    if gold.integers != one.integers:
        return "other variables are whole numbers"
    if gold.integers == set(names):
        return _whole(gold, one)
    for point in _corners(gold, one):
        if _holds(gold, point) != _holds(one, point):
            return f"one program alone allows the point {', '.join(map(str, point))}"
    return ""


def _planes(program: Program) -> list[Plane]:
    """The rows and bounds as planes, each scaled so that its first coefficient that is not 0 is 1."""
    names = program.variables
    found = [(tuple(row.terms.get(name, Fraction(0)) for name in names), row.bound) for row in program.rows]
    for i, name in enumerate(names):
        unit = tuple(Fraction(int(j == i)) for j in range(len(names)))
        found += [(unit, bound) for bound in program.range_of(name) if bound is not None]
    scaled = []
    for terms, bound in found:
        if first := next((value for value in terms if value), None):
            scaled.append((tuple(value / first for value in terms), bound / first))
    return scaled


def _corners(gold: Program, one: Program) -> Iterator[tuple[Fraction, ...]]:
    count = len(gold.variables)
    units = [tuple(Fraction(int(j == i)) for j in range(count)) for i in range(count)]
    box = [(unit, Fraction(side)) for unit in units for side in (-FAR, FAR)]
    planes = list(dict.fromkeys([*_planes(gold), *_planes(one), *box]))
    if len(planes) > MOST_PLANES:
        raise TooLarge(f"{len(planes)} rows and bounds, at most {MOST_PLANES} can be compared")
    for chosen in itertools.combinations(planes, count):
        if (point := _meeting(chosen)) is not None:
            yield point


def _meeting(planes: Sequence[Plane]) -> tuple[Fraction, ...] | None:
    """The one point where these planes meet, by elimination; None if there is no such point, or more than one."""
    rows = [[*terms, bound] for terms, bound in planes]
    for i in range(len(rows)):
        pivot = next((row for row in rows[i:] if row[i]), None)
        if pivot is None:
            return None
        rows.remove(pivot)
        pivot = [value / pivot[i] for value in pivot]
        rows = [[value - row[i] * by for value, by in zip(row, pivot, strict=True)] for row in rows]
        rows.insert(i, pivot)
    return tuple(row[-1] for row in rows)


def _holds(program: Program, point: Sequence[Fraction | int]) -> bool:
    at = dict(zip(program.variables, point, strict=True))
    for row in program.rows:
        over = sum(value * at[name] for name, value in row.terms.items()) - row.bound
        if (over > 0 and row.comparison != ">=") or (over < 0 and row.comparison != "<="):
            return False
    ranges = ((at[name], *program.range_of(name)) for name in program.variables)
    return all((low is None or low <= x) and (high is None or x <= high) for x, low, high in ranges)


def _whole(gold: Program, one: Program) -> str:
    """Compares two programs at all whole points from -1 to beyond every bound of the gold, and at far ones."""
    for point in itertools.product((0, FAR), repeat=len(gold.variables)):
        if _holds(gold, point) != _holds(one, point):
            return f"one program alone allows the point {', '.join(map(str, point))}"
    side = 2 + max((abs(math.ceil(row.bound)) for row in gold.rows), default=0)
    if (side + 2) ** len(gold.variables) > 10**6:
        raise TooLarge(f"bounds up to {side - 2}: too many whole points to compare")
    points = np.stack(np.meshgrid(*[np.arange(-1, side + 1)] * len(gold.variables), indexing="ij"))
    differs = _allowed(gold, points) != _allowed(one, points)
    if not differs.any():
        return ""
    place = tuple(int(axis[0]) - 1 for axis in np.nonzero(differs))
    return f"one program alone allows the point {', '.join(map(str, place))}"


def _allowed(program: Program, points: np.ndarray) -> np.ndarray:
    """Whether the program allows each of these whole points. Rows are multiplied by their denominators to be whole."""
    allowed = np.ones(points.shape[1:], dtype=bool)
    for row in program.rows:
        over = _times_denominators(row, program.variables, points)
        allowed &= (over <= 0) if row.comparison != ">=" else True
        allowed &= (over >= 0) if row.comparison != "<=" else True
    for name, values in zip(program.variables, points, strict=True):
        low, high = program.range_of(name)
        allowed &= True if low is None else values >= math.ceil(low)
        allowed &= True if high is None else values <= math.floor(high)
    return allowed


def _times_denominators(row: Constraint, names: Sequence[str], points: np.ndarray) -> np.ndarray:
    numbers = [*(row.terms.get(name, Fraction(0)) for name in names), row.bound]
    scale = math.lcm(*(number.denominator for number in numbers))
    *terms, bound = (int(number * scale) for number in numbers)
    if any(abs(value) > 10**15 for value in (*terms, bound)):
        raise TooLarge("numbers with too many digits to compare")
    return sum((value * points[i] for i, value in enumerate(terms)), np.zeros(points.shape[1:], np.int64)) - bound
