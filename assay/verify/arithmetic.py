"""Exact arithmetic on what a model wrote: a small grammar of its own, bounded in size, depth and bits; no `eval`.

Numbers are compared as fractions. Rational functions are compared at random points modulo random primes: two that
differ agree at a point with probability of about degree / 2^61, and three points are tried.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from assay.rng import Key

MOST_NODES = 500
DEEPEST = 50
MOST_BITS = 100_000  # of a number that is worked out
MOST_FACTORIAL = 2_000
MOST_DIGITS = 1_000  # of a literal that is read as a number
MOST_DEGREE = 1_000

Tree = tuple[Any, ...]  # (operation, operands ...)


class Unreadable(Exception):
    """Not of this grammar."""


class TooBig(Exception):
    """A number that would not fit into any reasonable memory."""


@dataclass(frozen=True)
class Number:
    """An exact value, and the place of its last written digit where it was written as a decimal: 3.14 has -2."""

    value: Fraction
    place: int | None = None
    percent: bool = False


_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:[ ]\d{3})+(?!\d)|\d+)"
_TOKEN = re.compile(
    rf"\s*(?:(?P<repeat>\d*\.\d*\\overline\{{\d+\}})"
    rf"|(?P<number>(?:{_DIGITS}(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d{{1,6}}(?![\d.a-zA-Z]))?)"
    r"|(?P<command>\\[a-zA-Z]+)"
    r"|(?P<symbol>[a-zA-Z](?:_(?:[a-zA-Z0-9]|\{[a-zA-Z0-9]+\}))?)"
    r"|(?P<operator>\*\*|[-+*/^!(){}\[\]|%]))"
)
_GREEK = {"alpha", "beta", "gamma", "delta", "theta", "lambda", "mu", "sigma", "phi", "omega", "rho", "tau", "epsilon"}
_CONSTANTS = {"e", "i"}  # letters that are numbers; like \\pi they are no rational functions


def plain_number(text: str) -> Number | None:
    """A literal: integer, decimal, scientific, thousands in groups, with a sign or a percent sign."""
    text = text.strip()
    percent = text.endswith("%")
    body = text.rstrip("%").strip()
    sign = -1 if body.startswith("-") else 1
    body = body.lstrip("+-").strip() if body[:1] in ("+", "-") else body
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+", body):  # 1.234,5
        body = body.replace(".", "").replace(",", ".")
    match = re.fullmatch(rf"(?P<digits>{_DIGITS}(?:\.\d+)?|\.\d+|\d+\.)(?:[eE](?P<power>[+-]?\d{{1,6}}))?", body)
    if not match or len(body) > MOST_DIGITS:
        return None
    digits = re.sub(r"[, ]", "", match["digits"])
    power = int(match["power"] or 0)
    if abs(power) > MOST_BITS // 4:
        return None
    value = sign * Fraction(digits if not digits.endswith(".") else digits[:-1]) * Fraction(10) ** power
    places = len(digits.partition(".")[2])
    place = power - places if places or match["power"] else None
    return Number(value / 100 if percent else value, place, percent)


def parse(text: str) -> Tree:
    """The tree of an expression, or Unreadable."""
    tokens: list[tuple[str, str]] = []
    place = 0
    text = text.strip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or len(tokens) > MOST_NODES:
            raise Unreadable
        tokens.append((match.lastgroup or "", match[match.lastgroup or 0]))
        place = match.end()
    reader = _Reader(tokens)
    tree = reader.sum(0)
    if reader.place != len(tokens):
        raise Unreadable
    return tree


class _Reader:
    """Recursive descent: sums of products of powers, with products written side by side."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.place = 0

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")

    def take(self, wanted: str = "") -> tuple[str, str]:
        token = self.peek()
        if token[0] == "end" or (wanted and token[1] != wanted):
            raise Unreadable
        self.place += 1
        return token

    def sum(self, depth: int) -> Tree:
        if depth > DEEPEST:
            raise Unreadable
        tree = self.product(depth)
        while self.peek()[1] in ("+", "-"):
            sign = self.take()[1]
            tree = (sign, tree, self.product(depth))
        return tree

    def product(self, depth: int) -> Tree:
        tree = self.signed(depth)
        while True:
            kind, text = self.peek()
            if text in ("*", r"\times", r"\cdot"):
                self.take()
                tree = ("*", tree, self.signed(depth))
            elif text in ("/", r"\div"):
                self.take()
                tree = ("/", tree, self.signed(depth))
            elif kind in ("symbol", "command") or text in ("(", "{", "["):
                tree = self._beside(tree, depth)
            else:
                return tree

    def _beside(self, left: Tree, depth: int) -> Tree:
        """`2x` is a product; `1\\frac{1}{2}` is a mixed number."""
        fraction = self.peek()[1] == r"\frac"
        right = self.power(depth)
        whole = left[0] == "number" and left[1].denominator == 1 and left[1] >= 0
        if fraction and whole and right[0] == "/" and right[1][0] == right[2][0] == "number":
            return ("+", left, right)
        return ("*", left, right)

    def signed(self, depth: int) -> Tree:
        if self.peek()[1] in ("+", "-"):
            sign = self.take()[1]
            inner = self.signed_product(depth)
            return ("-", ("number", Fraction(0)), inner) if sign == "-" else inner
        return self.power(depth)

    def signed_product(self, depth: int) -> Tree:
        """A sign binds weaker than a mixed number: `-1\\frac12` is -3/2."""
        if depth > DEEPEST or self.peek()[1] in ("+", "-"):
            raise Unreadable
        tree = self.power(depth)
        while self.peek()[1] == r"\frac":
            tree = self._beside(tree, depth)
        return tree

    def power(self, depth: int) -> Tree:
        base = self.atom(depth + 1)
        while self.peek()[1] in ("!", "%"):
            sign = self.take()[1]
            base = ("!", base) if sign == "!" else ("/", base, ("number", Fraction(100)))
        if self.peek()[1] in ("^", "**"):
            self.take()
            exponent = self.exponent(depth + 1)
            return ("^", base, exponent)
        return base

    def exponent(self, depth: int) -> Tree:
        if depth > DEEPEST:
            raise Unreadable
        if self.peek()[1] == "-":
            self.take()
            return ("-", ("number", Fraction(0)), self.power(depth))
        return self.power(depth)

    def atom(self, depth: int) -> Tree:
        if depth > DEEPEST:
            raise Unreadable
        kind, text = self.take()
        if kind == "number":
            return ("number", _literal(text))
        if kind == "repeat":
            return ("number", _repeating(text))
        if kind == "symbol":
            if text in _CONSTANTS:
                raise Unreadable
            return ("symbol", text.replace("{", "").replace("}", ""))
        if text in ("(", "{", "["):
            inner = self.sum(depth + 1)
            self.take({"(": ")", "{": "}", "[": "]"}[text])
            return inner
        if text == r"\frac":
            return ("/", self.argument(depth + 1), self.argument(depth + 1))
        if text in (r"\binom", r"\dbinom"):
            return ("binomial", self.argument(depth + 1), self.argument(depth + 1))
        if text == r"\sqrt" and self.peek()[1] != "[":
            return ("root", self.argument(depth + 1))
        if kind == "command" and text[1:] in _GREEK:
            return ("symbol", text)
        raise Unreadable

    def argument(self, depth: int) -> Tree:
        """Of a command: what is in braces, or one digit or letter: `\\frac12` is 1/2."""
        kind, text = self.peek()
        if kind == "number" and len(text) > 1 and text.isdigit():
            self.tokens[self.place] = ("number", text[1:])
            return ("number", Fraction(text[0]))
        return self.atom(depth)


def _literal(text: str) -> Fraction:
    if len(text) > MOST_DIGITS:
        raise TooBig
    found = plain_number(text)
    if found is None:
        raise TooBig
    return found.value


def _repeating(text: str) -> Fraction:
    """0.1\\overline{6} = 0.1 + 6 / 90."""
    match = re.fullmatch(r"(\d*)\.(\d*)\\overline\{(\d+)\}", text)
    if match is None or len(text) > MOST_DIGITS:
        raise Unreadable
    whole, fixed, cycle = match[1] or "0", match[2], match[3]
    return Fraction(int(whole + fixed), 10 ** len(fixed)) + Fraction(
        int(cycle), (10 ** len(cycle) - 1) * 10 ** len(fixed)
    )


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def number_of(tree: Tree) -> Fraction | None:
    """The exact value; None where there are symbols, irrational roots or a division by zero."""
    operation = tree[0]
    if operation == "number":
        return tree[1]
    if operation == "symbol":
        return None
    operands = [number_of(part) for part in tree[1:]]
    if any(operand is None for operand in operands):
        return None
    value = _EXACT[operation](*operands)
    if value is not None and _bits(value) > MOST_BITS:
        raise TooBig
    return value


def _power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator != 1:
        root = _root(base) if exponent.denominator == 2 else None
        return None if root is None else _power(root, Fraction(exponent.numerator))
    if base in (0, 1, -1):
        if base == 0:
            return Fraction(0) if exponent > 0 else None
        return base if exponent.numerator % 2 else Fraction(1)
    if _bits(base) * abs(exponent.numerator) > MOST_BITS:
        raise TooBig
    return base**exponent.numerator


def _root(value: Fraction) -> Fraction | None:
    if value < 0:
        return None
    top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
    return Fraction(top, bottom) if (top * top, bottom * bottom) == (value.numerator, value.denominator) else None


def _factorial(value: Fraction) -> Fraction | None:
    if value.denominator != 1 or value < 0:
        return None
    if value > MOST_FACTORIAL:
        raise TooBig
    return Fraction(math.factorial(value.numerator))


def _binomial(above: Fraction, below: Fraction) -> Fraction | None:
    if above.denominator != 1 or below.denominator != 1 or not 0 <= below <= above:
        return None
    if above > MOST_FACTORIAL:
        raise TooBig
    return Fraction(math.comb(above.numerator, below.numerator))


_EXACT: Mapping[str, Callable[..., Fraction | None]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else None,
    "^": _power,
    "!": _factorial,
    "root": _root,
    "binomial": _binomial,
}


def symbols(tree: Tree) -> set[str]:
    if tree[0] == "symbol":
        return {tree[1]}
    return set().union(*(symbols(part) for part in tree[1:] if isinstance(part, tuple)))


def rational(tree: Tree) -> bool:
    """Whether it is a rational function: sums, products, quotients and whole constant powers of symbols."""
    operation = tree[0]
    if operation in ("number", "symbol"):
        return True
    if operation == "^":
        exponent = number_of(tree[2])
        whole = exponent is not None and exponent.denominator == 1 and abs(exponent) <= MOST_DEGREE
        return whole and rational(tree[1])
    if operation in ("!", "root", "binomial"):
        return number_of(tree) is not None
    return all(rational(part) for part in tree[1:])


def same_function(one: Tree, other: Tree, *, points: int = 3) -> bool:
    """Whether two rational functions over the rationals are one, by their values at random points modulo primes."""
    names = sorted(symbols(one) | symbols(other))
    key = Key("identity", repr(one), repr(other))
    agreed = 0
    for attempt in range(10 * points):
        prime = _prime(key("prime", attempt).bits >> 2 | 1 << 61 | 1)
        values = {name: key("point", attempt, name).bits % prime for name in names}
        try:
            left, right = _modulo(one, values, prime), _modulo(other, values, prime)
        except ZeroDivisionError:
            continue
        if left != right:
            return False
        agreed += 1
        if agreed == points:
            return True
    return False


def _modulo(tree: Tree, values: Mapping[str, int], prime: int) -> int:
    operation = tree[0]
    if operation == "symbol":
        return values[tree[1]]
    if operation in ("number", "!", "root", "binomial"):
        exact = number_of(tree)
        assert exact is not None
        return exact.numerator * _inverse(exact.denominator, prime) % prime
    left = _modulo(tree[1], values, prime)
    if operation == "^":
        exponent = number_of(tree[2])
        assert exponent is not None
        power = exponent.numerator
        return pow(left if power >= 0 else _inverse(left, prime), abs(power), prime)
    right = _modulo(tree[2], values, prime)
    if operation == "/":
        return left * _inverse(right, prime) % prime
    return {"+": left + right, "-": left - right, "*": left * right}[operation] % prime


def _inverse(value: int, prime: int) -> int:
    if value % prime == 0:
        raise ZeroDivisionError
    return pow(value, -1, prime)


@lru_cache(maxsize=256)
def _prime(start: int) -> int:
    """The first prime from an odd start of 62 bits on. The bases decide all numbers below 3.3e24 (Miller-Rabin)."""
    while not _is_prime(start):
        start += 2
    return start


def _is_prime(n: int) -> bool:
    small = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    if any(n % p == 0 for p in small):
        return n in small
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in small:
        power = pow(base, odd, n)
        if power in (1, n - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % n
            if power == n - 1:
                break
        else:
            return False
    return True
