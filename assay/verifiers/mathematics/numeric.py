"""Compares expressions by their values to hundreds or thousands of bits.

Two numbers count as equal if they agree in half of the bits of the working precision, and if no
step of the evaluation can have lost a difference. A difference can be lost where a term vanishes
beside a larger one, where a number is too large or too small for the precision, or at the jump of
a function. Then four times as many bits are tried, and at last there is no decision. Functions of
letters are compared at random points, of both signs where both functions are defined there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from assay.rng import Key
from assay.verifiers.mathematics.arithmetic import MOST_ROOT, applied, bits, symbols
from assay.verifiers.mathematics.expressions import FUNCTIONS, TooBig, Tree, speaks, spelled

PRECISIONS = {256: 1, 1024: 5, 4096: 25}  # bits, and the cost of a step with so many bits
SATURATING = ("tanh", "coth")  # for large arguments their values cannot be told from 1
POINTS = 5  # two functions are compared at so many points
ATTEMPTS = 40  # points that are tried, because a function need not be defined at each

Value = Any  # a Fraction if it is exact, else a number of mpmath


@dataclass
class Budget:
    """The steps that an evaluation may still make. Unlike a time limit, it ends at the same step on every machine."""

    left: int = 15_000

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise Faint


class Undefined(Exception):
    """The expression has no value at this point."""


class Faint(Exception):
    """At this precision, a difference between two values may be lost."""


def same_value(one: Tree, other: Tree, budget: Budget) -> bool | None:
    """Whether two expressions are the same number, or the same function of their letters; None if undecided."""
    return _decided(one, other, _equal, budget)


def proportional(one: Tree, other: Tree, budget: Budget) -> int | None:
    """The sign of c if `one` is c times `other` for a constant c other than 0;
    0 if there is no such c; None if undecided.
    """
    ratio = ("/", one, other)
    names = sorted(symbols(one) | symbols(other))
    for precision in PRECISIONS:
        try:
            work = _Work(precision, budget)
            values = [work.value(ratio, point) for point in _usable(work, names, [ratio])]
            if len(values) < POINTS:
                return None
            same = all(_equal(work, value, values[0]) for value in values[1:])
            return 0 if not same or work.number(values[0]) == 0 else 1 if work.number(values[0]).real > 0 else -1
        except Faint:
            continue
    return None


def less(one: Tree, other: Tree, budget: Budget) -> bool | None:
    """Whether one real number is less than another; None if undecided."""
    return _decided(one, other, lambda work, a, b: bool(work.number(a).real < work.number(b).real), budget)


def within(value: Tree, low: Fraction, high: Fraction, budget: Budget) -> bool | None:
    """Whether a number is real and lies between `low` and `high`, inclusive; None if undecided."""
    return _decided(value, ("number", low), lambda work, a, _: _between(work, a, low, high), budget)


def _between(work: _Work, value: Value, low: Fraction, high: Fraction) -> bool:
    number = work.number(value)
    return bool(number.imag == 0 and work.number(low) <= number.real <= work.number(high))


def _decided(one: Tree, other: Tree, relation: Callable[[_Work, Value, Value], bool], budget: Budget) -> bool | None:
    """Whether the relation holds at every point; None if no precision is enough to decide it."""
    names = sorted(symbols(one) | symbols(other))
    for precision in PRECISIONS:
        if budget.left < 0:
            break
        work = _Work(precision, budget)
        held = 0
        try:
            for point in _usable(work, names, [one, other]):
                if not relation(work, work.value(one, point), work.value(other, point)):
                    return False
                held += 1
        except Faint:
            continue
        return True if held >= (POINTS if names else 1) else None
    return None


def _equal(work: _Work, a: Value, b: Value) -> bool:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a == b
    a, b = work.number(a), work.number(b)
    return bool(abs(a - b) <= max(abs(a), abs(b)) * work.small)


def _usable(work: _Work, names: list[str], trees: list[Tree]) -> list[Mapping[str, Value]]:
    """Points at which all of the trees have a value, which must be real unless a tree contains `i`.

    Trees without letters have one empty point. Points of either sign are tried first, then
    positive ones of several sizes, then whole numbers. A point at which the precision may
    lose a difference is skipped as long as there are enough others, because an exponential
    exceeds the precision at some points. If there are not enough, Faint is raised.
    """
    if not names:
        for tree in trees:
            try:
                work.value(tree, {})
            except Undefined:
                return []
        return [{}]
    points: list[Mapping[str, Value]] = []
    faint = False
    work.real = not any(speaks(tree, ("constant", "i")) for tree in trees)
    key = Key("points", *map(spelled, trees))
    for attempt in range(ATTEMPTS):
        point = {name: _coordinate(key(attempt, name).bits, attempt) for name in names}
        try:
            for tree in trees:
                work.value(tree, point)
        except Undefined:
            continue
        except Faint:
            if work.budget.left < 0:
                raise
            faint = True
            continue
        points.append(point)
        if len(points) == POINTS:
            break
    if faint and len(points) < POINTS:
        raise Faint
    return points


def _coordinate(noise: int, attempt: int) -> Fraction:
    if attempt >= 30:
        return Fraction(2 + noise % 20)
    size = (Fraction(4), Fraction(1), Fraction(16))[attempt % 3]
    value = size * (1 + noise % (1 << 30)) / (1 << 30)
    return -value if attempt < 15 and noise >> 40 & 1 else value


@lru_cache(maxsize=len(PRECISIONS))
def _context(precision: int) -> Any:
    import mpmath

    context = mpmath.mp.clone()
    context.prec = precision
    return context


class _Work:
    """Evaluation of trees with a precision of so many bits."""

    def __init__(self, precision: int, budget: Budget) -> None:
        self.precision, self.budget = precision, budget
        self.real = False  # whether a value that is not real, such as a root of a negative number, counts as undefined
        self.mp = _context(precision)
        self.small = self.mp.ldexp(1, -precision // 2)
        self.reach = precision // 4  # numbers from 2^-reach to 2^reach are safe

    def number(self, value: Value) -> Any:
        if isinstance(value, Fraction):
            if bits(value) > self.precision // 2:
                raise Faint
            return self.mp.mpf(value.numerator) / value.denominator
        return value

    def value(self, tree: Tree, point: Mapping[str, Value]) -> Value:
        operation = tree[0]
        if operation == "number":
            return tree[1]
        if operation == "symbol":
            return point[tree[1]]
        if operation == "constant":
            return {"pi": +self.mp.pi, "e": +self.mp.e, "i": self.mp.mpc(0, 1)}[tree[1]]
        self.budget.spend(PRECISIONS[self.precision])
        operands = [self.value(part, point) for part in tree[1:]]
        exact = [operand for operand in operands if isinstance(operand, Fraction)]
        try:
            result = applied(operation, exact, len(operands))
            if result is not None:
                return result
            return self._settled(getattr(self, f"_{_METHODS[operation]}")(operation, *map(self.number, operands)))
        except (ZeroDivisionError, ValueError, OverflowError, self.mp.NoConvergence):
            raise Undefined from None
        except TooBig:
            raise Faint from None

    def _settled(self, value: Any) -> Any:
        """The value without an imaginary part that rounding left. Raises Faint
        if the precision does not cover its size.
        """
        if not self.mp.isfinite(value):
            raise Undefined
        if isinstance(value, self.mp.mpc):
            parts = abs(value.real), abs(value.imag)
            if parts[1] <= parts[0] * self.small:
                value = value.real
        if self.real and isinstance(value, self.mp.mpc) and value.imag != 0:
            raise Undefined
        size = abs(value)
        if size and not -self.reach < self.mp.mag(size) < self.reach:
            raise Faint
        return value

    def _sum(self, operation: str, a: Any, b: Any) -> Any:
        """A sum or difference. Terms that cancel give exactly 0; Faint if one term vanishes beside the other."""
        total = a + b if operation == "+" else a - b
        large, little = max(abs(a), abs(b)), min(abs(a), abs(b))
        if little and little < large * self.mp.ldexp(1, -self.reach):
            raise Faint
        return self.mp.mpf(0) if abs(total) <= large * self.small * self.mp.ldexp(1, -self.reach // 2) else total

    def _product(self, operation: str, a: Any, b: Any) -> Any:
        return a * b if operation == "*" else a / b

    def _power(self, _: str, base: Any, exponent: Any) -> Any:
        if base == 0 and not exponent.real > 0:
            raise Undefined
        self._mild(exponent)
        return self.mp.power(base, exponent)

    def _root(self, _: str, value: Any, degree: Any = None) -> Any:
        """A root: the real root if there is one."""
        n = 2 if degree is None else int(degree.real)
        if degree is not None and (degree != n or not 2 <= n <= MOST_ROOT):
            raise Undefined
        negative = isinstance(value, self.mp.mpf) and value < 0
        return -self.mp.root(-value, n) if negative and n % 2 else self.mp.root(value, n)

    def _function(self, operation: str, value: Any) -> Any:
        self._mild(value)
        found = getattr(self.mp, {"ln": "log"}.get(operation, operation.replace("arc", "a")))(value)
        if operation in SATURATING and abs(abs(found) - 1) < self.mp.ldexp(1, -self.reach):
            raise Faint
        return +found

    def _log(self, _: str, base: Any, value: Any) -> Any:
        return self.mp.log(value) / self.mp.log(base)

    def _size(self, _: str, value: Any) -> Any:
        return abs(value)

    def _step(self, operation: str, value: Any) -> Any:
        if isinstance(value, self.mp.mpc):
            raise Undefined
        if abs(value - self.mp.nint(value)) <= self.small:
            raise Faint
        return self.mp.floor(value) if operation == "floor" else self.mp.ceil(value)

    def _factorial(self, _: str, value: Any) -> Any:
        self._costly(value)
        return self.mp.gamma(value + 1)

    def _exact_only(self, _: str, value: Any) -> Any:
        raise Undefined

    def _binomial(self, _: str, above: Any, below: Any) -> Any:
        self._costly(above)
        self._costly(below)
        return self.mp.binomial(above, below)

    def _costly(self, value: Any) -> None:
        """Raises Faint for arguments of the gamma function that would take seconds."""
        if self.precision > 1024 or (value and self.mp.mag(abs(value)) > 10):
            raise Faint

    def _mild(self, value: Any) -> None:
        """Raises Faint for an argument so large that a function takes long, or so small that its value is lost."""
        if value and (self.mp.mag(abs(value)) > 20 or self.mp.mag(abs(value)) < -self.reach // 2):
            raise Faint


_METHODS = {
    "+": "sum", "-": "sum", "*": "product", "/": "product", "^": "power", "root": "root", "log": "log", "abs": "size",
    "floor": "step", "ceil": "step", "!": "factorial", "!!": "exact_only", "binomial": "binomial",
    **dict.fromkeys(FUNCTIONS, "function"),
}  # fmt: skip
