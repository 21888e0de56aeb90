"""Pairs of a reference and a candidate that mean the same or not: expressions, sums of fractions, quantities.

Whether they do is known from the way in which they are made, exactly. The form of a candidate is drawn before it is
drawn whether it is right, so that no form gives the label away. A second way to decide it reads the two texts
(`same`): expressions at several points, fractions as fractions, quantities in base units.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from assay.worlds.tools import ToolError
from assay.worlds.units import converted, exact, quantity

ALGEBRA, FRACTION, QUANTITY = "algebra", "fraction", "quantity"
KINDS = (ALGEBRA, FRACTION, QUANTITY)
POINT = {"a": 97, "b": 89}
"""Where worked solutions compare expressions."""
_POINTS = tuple({"a": Fraction(a), "b": Fraction(b)} for a, b in ((10007, 20011), (-30011, 4099), (7919, -6101)))
_SIZES = (2, 3, 4, 5, 6, 8, 10, 12)  # of denominators
_ALIKE = (("m", "km", "dm", "cm", "mm"), ("s", "min", "h", "ms"), ("g", "kg", "mg", "t"))
_SLIPS = (Fraction(10), Fraction(1, 10), Fraction(60), Fraction(1, 60), Fraction(100), Fraction(1, 100))
_LONGEST_VALUE = 12

Node = tuple[Any, ...] | str | int
"""An expression: (sign, left, right), a variable, or a number."""
Polynomial = Mapping[tuple[int, int], int]
"""Powers of a and b -> coefficient, none of which is 0."""


@dataclass(frozen=True)
class Pair:
    """A reference and a candidate: `Pair("algebra", "Rewrite 3*(a+4).", "3*(a+4)", "3*a+12", True)`."""

    kind: str
    question: str
    reference: str
    candidate: str
    same: bool


def pair(generator: np.random.Generator, depth: int) -> Pair:
    """A random pair of a random kind. It is drawn again where a comparison in floating point would be mistaken."""
    make = (_expressions, _fractions, _quantities)[int(generator.integers(3))]
    right = bool(generator.integers(2))
    while (made := make(generator, depth, right)) is None or near_zero(made) != right:
        pass
    return made


# Expressions


def _expressions(generator: np.random.Generator, depth: int, right: bool) -> Pair | None:
    tree = _tree(generator, depth)
    as_tree = bool(generator.integers(2))
    if as_tree:
        other = tree if right else _misread(generator, tree)
        candidate, means = _written(_turned(generator, other)), polynomial(other)
    else:
        means = polynomial(tree) if right else _slipped(generator, polynomial(tree))
        candidate = _expanded(generator, means)
    reference = _written(tree)
    if (means == polynomial(tree)) != right or candidate == reference:
        return None
    return Pair(ALGEBRA, f"Write {_written(_turned(generator, tree))} in any other form.", reference, candidate, right)


def _tree(generator: np.random.Generator, depth: int) -> Node:
    """An expression of so many operations with parentheses, at most one of them a product with a variable."""
    tree: Node = ("*", _digit(generator), ("+-"[int(generator.integers(2))], _name(generator), _digit(generator)))
    squared = False
    for _ in range(depth - 1):
        sign, way = "+-"[int(generator.integers(2))], int(generator.integers(3))
        if way == 0:
            tree = ("*", _digit(generator), (sign, tree, _name(generator)))
        elif way == 1 and not squared:
            tree, squared = ("*", _name(generator), (sign, tree, _digit(generator))), True
        else:
            tree = (sign, tree, ("*", _digit(generator), ("+", _name(generator), _digit(generator))))
    return tree


def _digit(generator: np.random.Generator) -> int:
    return int(generator.integers(2, 10))


def _name(generator: np.random.Generator) -> str:
    return "ab"[int(generator.integers(2))]


def _written(node: Node, above: str = "") -> str:
    """An expression as Python reads it, with no more parentheses than it needs."""
    if not isinstance(node, tuple):
        return str(node)
    sign, left, right = node
    inner = _written(left, "*" if sign == "*" else "+") + sign + _written(right, "*" if sign == "*" else sign)
    return f"({inner})" if (above == "*" and sign != "*") or (above == "-" and sign != "*") else inner


def _turned(generator: np.random.Generator, node: Node) -> Node:
    """The expression with some of its sums and products the other way around."""
    if not isinstance(node, tuple):
        return node
    sign, left, right = node[0], _turned(generator, node[1]), _turned(generator, node[2])
    return (sign, right, left) if sign != "-" and generator.integers(2) else (sign, left, right)


def _misread(generator: np.random.Generator, node: Node) -> Node:
    """The expression with one of its numbers or variables misread."""
    if isinstance(node, int):
        return node + (1, -1)[int(generator.integers(2))]
    if isinstance(node, str):
        return "b" if node == "a" else "a"
    place = 1 + int(generator.integers(2))
    return (*node[:place], _misread(generator, node[place]), *node[place + 1 :])


def polynomial(node: Node) -> Polynomial:
    """An expression multiplied out."""
    if isinstance(node, int):
        return {(0, 0): node} if node else {}
    if isinstance(node, str):
        return {(1, 0) if node == "a" else (0, 1): 1}
    sign, left, right = node[0], polynomial(node[1]), polynomial(node[2])
    made: dict[tuple[int, int], int] = {} if sign == "*" else dict(left)
    if sign == "*":
        for (i, j), factor in left.items():
            for (k, m), other in right.items():
                made[i + k, j + m] = made.get((i + k, j + m), 0) + factor * other
    else:
        for powers, other in right.items():
            made[powers] = made.get(powers, 0) + (other if sign == "+" else -other)
    return {powers: value for powers, value in made.items() if value}


def _slipped(generator: np.random.Generator, right: Polynomial) -> Polynomial:
    """The polynomial with a slip in one coefficient: a wrong sign, or one that is somewhat off."""
    powers = list(right)[int(generator.integers(len(right)))] if right else (0, 0)
    value = right.get(powers, 0)
    off = int(generator.integers(1, 4)) * (1, -1)[int(generator.integers(2))]
    slip = -value if value and generator.integers(2) else value + off
    return {**{p: v for p, v in right.items() if p != powers}, **({powers: slip} if slip else {})}


def _expanded(generator: np.random.Generator, means: Polynomial) -> str:
    """The monomials in any order."""
    terms = [_monomial(*powers, value) for powers, value in means.items()]
    text = "".join(terms[i] for i in generator.permutation(len(terms)))
    return text.removeprefix("+") or "0"


def _monomial(i: int, j: int, value: int) -> str:
    factors = ["a"] * i + ["b"] * j
    shown = [str(abs(value))] if abs(value) != 1 or not factors else []
    return ("+" if value > 0 else "-") + "*".join(shown + factors)


# Fractions


def _fractions(generator: np.random.Generator, depth: int, right: bool) -> Pair | None:
    decimal = bool(generator.integers(2))
    sizes = [size for size in _SIZES if not decimal or size % 3]
    terms = [(1, *_fraction(generator, sizes))]
    terms += [((1, -1)[int(generator.integers(2))], *_fraction(generator, sizes)) for _ in range(depth)]
    total = sum((Fraction(sign * over, under) for sign, over, under in terms), Fraction())
    shown = total if right else total + Fraction((1, -1)[int(generator.integers(2))], int(generator.choice(sizes)))
    text = "".join(f"{'+' if sign > 0 else '-'}{over}/{under}" for sign, over, under in terms).removeprefix("+")
    times = int(generator.integers(1, 4))
    candidate = exact(shown) if decimal else f"{shown.numerator * times}/{shown.denominator * times}"
    if not right and not decimal and depth < 3 and generator.integers(3) == 0:  # over and under added by themselves
        over, under = sum(sign * n for sign, n, _ in terms), sum(size for _, _, size in terms)
        shown, candidate = Fraction(over, under), f"{over}/{under}"
    if (shown == total) != right or len(candidate) > _LONGEST_VALUE:
        return None
    return Pair(FRACTION, f"What is {text}?", text, candidate, right)


def _fraction(generator: np.random.Generator, sizes: list[int]) -> tuple[int, int]:
    size = int(generator.choice(sizes))
    return int(generator.integers(1, size)), size


# Quantities


def _quantities(generator: np.random.Generator, depth: int, right: bool) -> Pair | None:
    source, target = "", ""
    for number in range(depth):
        names = _ALIKE[int(generator.integers(len(_ALIKE)))]
        first, other = (names[i] for i in generator.permutation(len(names))[:2])
        sign = "" if number == 0 else "*/"[int(generator.integers(2))]
        source, target = f"{source}{sign}{first}", f"{target}{sign}{other}"
    value = Fraction(int(generator.integers(1, 100)), (1, 10)[int(generator.integers(2))])
    true = converted(value, source, target)
    shown = true if right else true * _SLIPS[int(generator.integers(len(_SLIPS)))]
    texts = [exact(each) for each in (value, true, shown)]
    if max(map(len, texts)) > _LONGEST_VALUE:
        return None
    return Pair(
        QUANTITY, f"Give {texts[0]} {source} in {target}.", f"{texts[0]} {source}", f"{texts[2]} {target}", right
    )


# Comparisons of the texts


def near_zero(made: Pair) -> bool:
    """What the worked solution of a pair computes in floating point."""
    reference, candidate = compared(made.kind, made.reference, made.candidate)
    return abs(_evaluated(reference, POINT) - _evaluated(candidate, POINT)) < 1e-9


def compared(kind: str, reference: str, candidate: str) -> tuple[str, str]:
    """The two expressions whose difference decides; of quantities the reference in the unit of the candidate."""
    if kind != QUANTITY:
        return reference, candidate
    value, _, source = reference.partition(" ")
    shown, _, target = candidate.partition(" ")
    return exact(converted(Fraction(value), source, target)), shown


def same(kind: str, reference: str, candidate: str) -> bool:
    """Whether the two mean the same, read from the texts alone, in exact numbers."""
    if kind == QUANTITY:
        try:
            return quantity(reference) == quantity(candidate)
        except ToolError:
            return False
    return all(_evaluated(reference, at) == _evaluated(candidate, at) for at in _POINTS)


def _evaluated(text: str, at: Mapping[str, Any]) -> Any:
    """The value of a text of ours at a point: exact where the point is of fractions, else as Python computes it."""
    whole = Fraction if isinstance(next(iter(at.values())), Fraction) else lambda value: value

    def value(node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return whole(ast.unparse(node)) if whole is Fraction else node.value
            case ast.Name():
                return at[node.id]
            case ast.UnaryOp():
                return -value(node.operand)
            case ast.BinOp():
                left, right = value(node.left), value(node.right)
                match node.op:
                    case ast.Add():
                        return left + right
                    case ast.Sub():
                        return left - right
                    case ast.Mult():
                        return left * right
                    case _:
                        return left / right
        raise ValueError(f"{text!r} is no expression of ours")

    return value(ast.parse(text, mode="eval").body)
