"""Checks of a solver's result, in exact fractions: is the point feasible, and what is it worth?

The tolerances are declared once. A solver computes in floating point, so its point may miss a bound by a millionth, but
not by more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from assay.verifiers.optimisation.program import Linear, Program

ABSOLUTE = Fraction(1, 10**6)  # of feasibility, and as much again relative to the bound
INTEGRAL = Fraction(1, 10**5)  # how far an integer variable may be from a whole number
EQUAL = Fraction(1, 10**6)  # two values v and w are equal if |v - w| < EQUAL (|v| + 1)

Point = Mapping[str, Fraction]


def point_of(values: Mapping[str, object], program: Program) -> Point | str:
    """The values of a solver as fractions, by the names of the program; a reason if they are no point of it.

    `values` has the names that `write` gives: x0, x1, ...
    """
    called = {f"x{i}": name for i, name in enumerate(program.variables)}
    if set(values) != set(called):
        return f"values of {len(values)} variables for {len(called)}"
    point = {}
    for short, value in values.items():
        if not isinstance(value, int | float) or not math.isfinite(value):
            return f"the value of {called[short]} is {value!r}"
        point[called[short]] = Fraction(value)
    return point


def violation(program: Program, point: Point) -> str:
    """The first part of the program that does not hold at a point; "" if all of it holds within the tolerances."""
    for number, row in enumerate(program.rows, 1):
        over = total(row.terms, point) - row.bound
        room = ABSOLUTE * (row.size + abs(row.bound))
        if (row.comparison != ">=" and over > room) or (row.comparison != "<=" and over < -room):
            return f"row {number} does not hold"
    for name in program.variables:
        low, high = program.range_of(name)
        if low is not None and point[name] < low - ABSOLUTE * (1 + abs(low)):
            return f"{name} is below its bound"
        if high is not None and point[name] > high + ABSOLUTE * (1 + abs(high)):
            return f"{name} is above its bound"
        if name in program.integers and abs(point[name] - round(point[name])) > INTEGRAL:
            return f"{name} is not whole"
    return ""


def total(terms: Linear, point: Point) -> Fraction:
    """The value of a linear expression at a point."""
    return sum((value * point[name] for name, value in terms.items()), Fraction(0))


def worth(program: Program, point: Point) -> Fraction:
    """The objective of a program at a point."""
    return total(program.objective, point) + program.constant


def equal(one: Fraction, other: Fraction) -> bool:
    return abs(one - other) < EQUAL * (abs(one) + 1)
