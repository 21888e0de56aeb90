"""The meaning of relations: the value of `x = 5`, the region of an inequality, an equation up to a constant factor."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.verifiers.mathematics import numeric
from assay.verifiers.mathematics.arithmetic import symbols
from assay.verifiers.mathematics.expressions import Tree
from assay.verifiers.mathematics.names import is_name, name_of
from assay.verifiers.mathematics.reading import (
    Grid,
    Opaque,
    Reading,
    Relation,
    Several,
    Value,
    read,
)
from assay.verifiers.mathematics.structure import encloses

_SIZE = re.compile(r"\|\s*([a-z])\s*\|")
INFINITY = r"\infty"
_FLIPPED = {"<": ">", ">": "<", r"\leq": r"\geq", r"\geq": r"\leq", "=": "=", r"\neq": r"\neq"}


@dataclass(frozen=True)
class Stated:
    """The values that an equation gives to a name. For `f(x) = 1 + 2 = 3`, they are "1 + 2" and "3"."""

    values: tuple[str, ...]  # the sides of a chain of equations; all should be equal
    name: str = ""  # "f"
    arguments: str = ""  # "x"


def tree_of(side: str) -> Tree | None:
    """The expression tree of one side of a relation; None if the side is no expression, or has a unit."""
    found = read(side)
    return found.quantity.tree if isinstance(found, Value) and found.quantity.unit is None else None


def readable(relation: Relation) -> bool:
    """Whether every side is a name, a group, or an expression of our grammar."""
    return all(is_name(side) or isinstance(read(side, trusted=True), Value | Several | Grid) for side in relation.sides)


def stated(found: Reading, text: str = "") -> Stated | None:
    """The values that a relation states: `x = 5`, `5 = x`, `f(x) = 1 + 2 = 3`. A text that is no relation is a value.

    None for an inequality, and for an equation that would have to be solved first.
    """
    if not isinstance(found, Relation):
        return Stated((text,)) if text else None
    if not found.equation and found.signs != (r"\in",):
        return None
    sides = list(found.sides)
    if any(map(_SIZE.fullmatch, sides)):
        return None  # |x| = 5 has two solutions, 5 and -5
    names: list[str] = []
    if len(sides) > 2 and all(map(is_name, sides)):
        return None
    worked = 0  # sides that are a calculation: `\\lim_{x \\to 0} x = 0` states 0
    while len(sides) > 1 and (is_name(sides[0]) or _to_be_worked_out(sides[0])):
        side = sides.pop(0)
        if is_name(side):
            names.append(side)
        else:
            worked += 1
    if not names and len(sides) == 2 and is_name(sides[1]):
        names.append(sides.pop())
    if (
        not names
        and not worked
        and (len(set(sides)) < len(sides) or any(tree is None or symbols(tree) for tree in map(tree_of, sides)))
    ):
        return None
    name = name_of(names[-1]) if names else ("", "")
    return Stated(tuple(sides), *name)


_WORK = re.compile(
    r"\\(?:lim|int|iint|iiint|sum|prod|det|gcd|max|min|bmod|pmod|mod)(?![a-zA-Z])|\\begin\s*\{(?:vmatrix|array)\}"
)


def _to_be_worked_out(side: str) -> bool:
    """Whether a side is a calculation that our grammar does not have: a limit, an integral, a determinant."""
    found = read(side)
    opaque = isinstance(found, Opaque) or (isinstance(found, Grid) and found.kind == "determinant")
    return opaque and _WORK.search(side) is not None and r"\text" not in side


def may_be(wanted: Stated, given: Stated) -> bool:
    """Whether two stated values may be values of the same thing.

    A missing name fits every name. The letter of an argument matters only if a value depends on it.
    """
    if not wanted.name or not given.name:
        return True
    if wanted.name != given.name:  # y and f(x) are two ways to name a function
        return "y" in (wanted.name, given.name) and bool(wanted.arguments or given.arguments)
    arguments = {a for one in (wanted, given) for a in one.arguments.split(",") if a}
    trees = [tree_of(value) for one in (wanted, given) for value in one.values]
    letters = {name for tree in trees if tree is not None for name in symbols(tree)}
    return wanted.arguments == given.arguments or not arguments & letters


def assigned(wanted: Several | Reading, given: Several | Reading) -> tuple[Reading, Reading]:
    """Both groups, with lists of assignments such as `p = 5, q = 2` replaced by
    tuples where that makes them comparable.

    Beside a tuple or a list without names, the values are taken in their written order. Beside another list of
    assignments, they are ordered by name. Names that differ only in a number, as those of roots do, are ignored.
    """
    names = [_names(group) for group in (wanted, given)]
    if names[0] and names[1]:
        if set(names[0]) == set(names[1]):
            return _tuple([names[0][name] for name in sorted(names[0])]), _tuple(
                [names[1][name] for name in sorted(names[0])]
            )
        return wanted, given
    if names[0] and isinstance(given, Several) and given.kind in ("list", "pair", "tuple"):
        return _tuple(list(names[0].values())), _tuple(list(given.parts), given.brackets or "()")
    if names[1] and isinstance(wanted, Several) and wanted.kind in ("pair", "tuple"):
        return wanted, _tuple(list(names[1].values()))
    return wanted, given


def _tuple(parts: Sequence[str], brackets: str = "()") -> Several:
    return Several("pair" if len(parts) == 2 else "tuple", tuple(parts), brackets)


def _names(found: Reading) -> dict[str, str]:
    """The values of a list of assignments, by name; empty if it is no such list."""
    if not isinstance(found, Several) or found.kind != "list" or found.joined == "or":
        return {}
    parts = [stated(read(part)) for part in found.parts]
    names = {part.name: part.values[-1] for part in parts if part is not None and part.name and len(part.values) == 1}
    letters = {re.sub(r"_?\d+$", "", name) for name in names}
    return names if len(names) == len(found.parts) == len(letters) else {}


# --- regions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Region:
    """An interval or a union of intervals, written as text, and the name of the variable in it."""

    text: str
    name: str = ""  # "" if no variable was named

    def may_be(self, other: Region) -> bool:
        return not self.name or not other.name or self.name == other.name


def region(found: Reading) -> Region | None:
    """The region that relations of one variable, or intervals, describe; None for anything else."""
    if isinstance(found, Several):
        return _group(found)
    if not isinstance(found, Relation):
        return None
    if found.signs == (r"\in",):
        inner = region(read(found.sides[1]))
        return Region(inner.text, name_of(found.sides[0])[0]) if inner else None
    if found.signs == (r"\neq",):
        name, value = found.sides if is_name(found.sides[0]) else found.sides[::-1]
        holed = Region(_without(value), name_of(name)[0])
        return holed if is_name(name) and _constant(value) else None
    return _inequality(found)


def _without(value: str) -> str:
    return rf"(-\infty,{value})\cup({value},\infty)"


def _inequality(found: Relation) -> Region | None:
    """The region of an inequality such as `x > 5`, `1 < x <= 3` or `1 <= |z| <= 2`."""
    sides, signs = list(found.sides), list(found.signs)
    if all(sign in (">", r"\geq") for sign in signs):
        sides, signs = sides[::-1], [_FLIPPED[sign] for sign in signs[::-1]]
    if not set(signs) <= {"<", r"\leq"} or len(sides) > 3:
        return None
    if len(sides) == 2:  # the missing end is infinite
        above = is_name(sides[1])
        sides, signs = ([*sides, r"\infty"], [*signs, "<"]) if above else ([r"-\infty", *sides], ["<", *signs])
    low, name, high = sides
    if not is_name(name) or not _constant(low) or not _constant(high):
        return None
    interval = f"{'[' if signs[0] != '<' else '('}{low},{high}{']' if signs[1] != '<' else ')'}"
    if size := _SIZE.fullmatch(name):
        return Region(_of_size(interval), size[1])
    return Region(interval, name_of(name)[0])


def _of_size(interval: str) -> str:
    """The region of z if |z| lies in an interval."""
    low, _, high = interval[1:-1].rpartition(",")
    opened, closed = interval[0], interval[-1]
    turned = {"(": ")", "[": "]", ")": "(", "]": "["}
    if low == r"-\infty":
        return f"{turned[closed]}-({high}),{high}{closed}"
    end = r"-\infty" if high == r"\infty" else f"-({high})"
    return rf"{turned[closed]}{end},-({low}){turned[opened]}\cup{interval}"


def _constant(side: str) -> bool:
    tree = tree_of(side)
    return tree is not None and symbols(tree) <= {INFINITY}


def _group(found: Several) -> Region | None:
    if found.kind == "pair":
        return Region(found.brackets[0] + ",".join(found.parts) + found.brackets[1])
    if found.kind == "union":
        return Region(r"\cup".join(found.parts))
    if found.kind == "difference":
        return _holed(found)
    if found.kind != "list" or not any(isinstance(read(part), Relation) for part in found.parts):
        return None
    parts = [region(read(part)) for part in found.parts]
    regions = [part for part in parts if part is not None]
    names = {part.name for part in regions if part.name}
    if len(regions) < len(parts) or len(names) > 1:
        return None
    texts = [part.text for part in regions]
    both = _both(texts) if found.joined != "or" else None
    return Region(both or r"\cup".join(texts), *names)


def _holed(found: Several) -> Region | None:
    """The region of all real numbers but one, written as a set difference."""
    whole, taken = region(read(found.parts[0])), read(found.parts[1])
    one = isinstance(taken, Several) and taken.kind == "set" and len(taken.parts) == 1 and len(found.parts) == 2
    if not one or whole is None or whole.text != r"(-\infty,\infty)":
        return None
    assert isinstance(taken, Several)
    return Region(_without(taken.parts[0]))


def _both(parts: Sequence[str]) -> str | None:
    """The interval in which two inequalities such as `x > 1` and `x < 3` both
    hold; None if it is no bounded interval.
    """
    if len(parts) != 2 or any(r"\cup" in part or not encloses(part) for part in parts):
        return None
    low, high = sorted(parts, key=lambda part: part.startswith(r"(-\infty"))
    if not (low.endswith(r",\infty)") and high.startswith(r"(-\infty,")) or low.startswith(r"(-\infty"):
        return None
    start, end = low[1 : -len(r",\infty)")], high[len(r"(-\infty,") : -1]
    trees = tree_of(start), tree_of(end)
    if trees[0] is None or trees[1] is None or not numeric.less(trees[0], trees[1], numeric.Budget()):
        return None
    return f"{low[0]}{start},{end}{high[-1]}"


# --- equations and inequalities that name no value ----------------------------------------------------------


def same(wanted: Relation, given: Relation, budget: numeric.Budget) -> bool | None:
    """Whether two relations are equal up to a constant factor; longer chains must be equal as they are written."""
    if len(wanted.sides) != 2 or len(given.sides) != 2:
        return _chains(wanted, given)
    signs = [relation.signs[0] for relation in (wanted, given)]
    if r"\in" in signs or r"\equiv" in signs or r"\approx" in signs:
        return None
    if stated(wanted) and not stated(given) and _constant(stated(wanted).values[-1]):  # type: ignore[union-attr]
        return False  # the answer is an equation that must still be solved
    differences = [_difference(relation) for relation in (wanted, given)]
    if differences[0] is None or differences[1] is None:
        return None
    sign = numeric.proportional(differences[0], differences[1], budget)
    if not sign:
        return False
    return signs[0] == signs[1] if sign > 0 else signs[0] == _FLIPPED[signs[1]]


def _difference(relation: Relation) -> Tree | None:
    left, right = (tree_of(side) for side in relation.sides)
    return None if left is None or right is None else ("-", left, right)


def _chains(wanted: Relation, given: Relation) -> bool:
    """Whether two chains are equal: `a = b = c` in any order, `a < b < c` as it is written or from right to left."""
    sides = [[re.sub(r"\s", "", side) for side in relation.sides] for relation in (wanted, given)]
    if wanted.equation and given.equation:
        return sorted(sides[0]) == sorted(sides[1])
    turned = [_FLIPPED.get(sign, "") for sign in given.signs[::-1]]
    return (sides[0], list(wanted.signs)) in ((sides[1], list(given.signs)), (sides[1][::-1], turned))
