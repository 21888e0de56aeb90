"""Formulas written by a model, read without `eval`: exact rational values, exact polynomials, and antiderivatives.

`parse` gives a small tree, from which three functions below compute. All limits exist so that no text, however hostile,
takes more than a few milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

Tree = tuple[Any, ...]  # ("number", Fraction), ("name", str), ("call", str, Tree), ("-", Tree), (operator, Tree, Tree)
Polynomial = dict[
    tuple[tuple[str, int], ...], Fraction
]  # monomial ((name, exponent), ...) sorted by name -> coefficient

_TOKEN = re.compile(r"\s*(?:(\d{1,30}(?:\.\d{1,30})?)|([A-Za-z]\w{0,20})|(\*\*|[-+*/()]))")
_MAX_DEPTH = 40
_MAX_DEGREE = 60
_MAX_TERMS = 400
_MAX_BITS = 4000
_MAX_ARGUMENT = 10_000


class Unreadable(ValueError):
    """The text is not a formula of the expected kind."""


def parse(text: str) -> Tree:
    """The tree of a formula, with Python's precedence. Raises `Unreadable` if the text is no formula."""
    tokens: list[tuple[str, str]] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise Unreadable(f"'{text[position]}' belongs to no formula")
        number, name, operator = match.groups()
        tokens.append(("number", number) if number else ("name", name) if name else ("operator", operator))
        position = match.end()
    tree, used = _sum(tokens, 0, 0)
    if used != len(tokens):
        raise Unreadable("text after the formula")
    return tree


def _at(tokens: list[tuple[str, str]], place: int) -> str:
    return tokens[place][1] if place < len(tokens) and tokens[place][0] == "operator" else ""


def _sum(tokens: list[tuple[str, str]], place: int, depth: int) -> tuple[Tree, int]:
    left, place = _product(tokens, place, depth)
    while (operator := _at(tokens, place)) in ("+", "-"):
        right, place = _product(tokens, place + 1, depth)
        left = (operator, left, right)
    return left, place


def _product(tokens: list[tuple[str, str]], place: int, depth: int) -> tuple[Tree, int]:
    left, place = _signed(tokens, place, depth)
    while (operator := _at(tokens, place)) in ("*", "/"):
        right, place = _signed(tokens, place + 1, depth)
        left = (operator, left, right)
    return left, place


def _signed(tokens: list[tuple[str, str]], place: int, depth: int) -> tuple[Tree, int]:
    if depth > _MAX_DEPTH:
        raise Unreadable("nested too deeply")
    if (operator := _at(tokens, place)) in ("+", "-"):
        inner, place = _signed(tokens, place + 1, depth + 1)
        return (("-", inner) if operator == "-" else inner), place
    base, place = _atom(tokens, place, depth)
    if _at(tokens, place) == "**":
        exponent, place = _signed(tokens, place + 1, depth + 1)
        return ("**", base, exponent), place
    return base, place


def _atom(tokens: list[tuple[str, str]], place: int, depth: int) -> tuple[Tree, int]:
    if place >= len(tokens):
        raise Unreadable("the formula breaks off")
    kind, text = tokens[place]
    if kind == "number":
        return ("number", Fraction(text)), place + 1
    if kind == "name" and _at(tokens, place + 1) != "(":
        return ("name", text), place + 1
    start = place + 1 if kind == "name" else place
    if _at(tokens, start) != "(":
        raise Unreadable(f"'{text}' where a value is expected")
    inner, place = _sum(tokens, start + 1, depth + 1)
    if _at(tokens, place) != ")":
        raise Unreadable("a parenthesis is not closed")
    return (("call", text, inner) if kind == "name" else inner), place + 1


def leaves(tree: Tree, kind: str) -> list[Any]:
    """The values of all leaves of this kind ('number' or 'name'), from left to right."""
    if tree[0] in ("number", "name"):
        return [tree[1]] if tree[0] == kind else []
    return [leaf for part in tree[1:] if isinstance(part, tuple) for leaf in leaves(part, kind)]


def rational(tree: Tree) -> Fraction:
    """The exact value of a formula made of numbers, signs and + - * /."""
    match tree:
        case ("number", value):
            return value
        case ("-", inner):
            return -rational(inner)
        case ("+", left, right):
            return rational(left) + rational(right)
        case ("-", left, right):
            return rational(left) - rational(right)
        case ("*", left, right):
            return rational(left) * rational(right)
        case ("/", left, right):
            if not (divisor := rational(right)):
                raise Unreadable("division by zero")
            return rational(left) / divisor
    raise Unreadable("only numbers and + - * /")


def polynomial(tree: Tree) -> Polynomial:
    """A formula as a polynomial in its names, with exact coefficients. It may divide by constants only."""
    match tree:
        case ("number", value):
            return {(): value} if value else {}
        case ("name", name):
            return {((name, 1),): Fraction(1)}
        case ("-", inner):
            return {monomial: -value for monomial, value in polynomial(inner).items()}
        case ("+", left, right):
            return _add(polynomial(left), polynomial(right), 1)
        case ("-", left, right):
            return _add(polynomial(left), polynomial(right), -1)
        case ("*", left, right):
            return _multiply(polynomial(left), polynomial(right))
        case ("/", left, right):
            divisor = polynomial(right)
            if set(divisor) != {()}:
                raise Unreadable("division by what is no constant")
            return {monomial: value / divisor[()] for monomial, value in polynomial(left).items()}
        case ("**", base, ("number", exponent)) if exponent.denominator == 1 and exponent <= _MAX_DEGREE:
            power: Polynomial = {(): Fraction(1)}
            factor = polynomial(base)
            for _ in range(int(exponent)):
                power = _multiply(power, factor)
            return power
    raise Unreadable("not a polynomial")


def _add(left: Polynomial, right: Polynomial, sign: int) -> Polynomial:
    total = dict(left)
    for monomial, value in right.items():
        total[monomial] = total.get(monomial, Fraction(0)) + sign * value
    return {monomial: value for monomial, value in total.items() if value}


def _multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    product: Polynomial = {}
    for one, a in left.items():
        for other, b in right.items():
            exponents = dict(one)
            for name, exponent in other:
                exponents[name] = exponents.get(name, 0) + exponent
            monomial = tuple(sorted(exponents.items()))
            product[monomial] = product.get(monomial, Fraction(0)) + a * b
            large = product[monomial].numerator.bit_length() > _MAX_BITS
            if large or len(product) > _MAX_TERMS or max(exponents.values(), default=0) > _MAX_DEGREE:
                raise Unreadable("too large a polynomial")
    return {monomial: value for monomial, value in product.items() if value}


_POINTS = ("0.3137", "0.4729", "0.7351", "1.1293", "1.8171")
_FUNCTIONS = ("sin", "cos", "tan", "exp", "log", "sqrt", "asin", "acos", "atan", "sinh", "cosh", "tanh")


def is_antiderivative(formula: Tree, integrand: Tree, variable: str) -> bool:
    """Whether d formula / d variable = integrand at five points, to 15 digits. C may stand for any constant."""
    import mpmath

    mp = mpmath.mp.clone()  # the precision of the shared context is global state
    mp.dps = 40
    names = {"C": mp.mpf("0.577"), "E": +mp.e, "e": +mp.e, "pi": +mp.pi}

    def at(tree: Tree) -> Callable[[Any], Any]:
        return lambda x: _value(tree, {**names, variable: x}, mp)

    for point in map(mp.mpf, _POINTS):
        try:
            slope, expected = mp.diff(at(formula), point), at(integrand)(point)
        except (ZeroDivisionError, OverflowError, ValueError) as error:
            raise Unreadable("the formula has no value where the integrand has one") from error
        if abs(slope - expected) > mp.mpf("1e-15") * (1 + abs(expected)):
            return False
    return True


def _value(tree: Tree, names: Mapping[str, Any], mp: Any) -> Any:
    match tree:
        case ("number", value):
            return mp.mpf(value.numerator) / value.denominator
        case ("name", name) if name in names:
            return names[name]
        case ("call", function, inner) if function in _FUNCTIONS:
            argument = _value(inner, names, mp)
            if abs(argument) > _MAX_ARGUMENT:
                raise Unreadable("too large an argument")
            return getattr(mp, function)(argument)
        case ("-", inner):
            return -_value(inner, names, mp)
        case (("+" | "-" | "*" | "/" | "**") as operator, left, right):
            a, b = _value(left, names, mp), _value(right, names, mp)
            if operator == "**":
                if abs(b) > _MAX_ARGUMENT or abs(a) > mp.mpf(10) ** 100:
                    raise Unreadable("too large a power")
                return a**b
            return a + b if operator == "+" else a - b if operator == "-" else a * b if operator == "*" else a / b
    raise Unreadable("a name or function that the question does not have")
