"""Comparators, by name: when an output is the expected one. A task declares one; none is guessed from the data."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

RELATIVE, ABSOLUTE = 1e-6, 1e-9  # how far numbers may lie apart where a comparator allows it
_NUMBERS = (int, float)

Text = Callable[[str, str], bool]
Values = Callable[[Any, Any], bool]
"""(found, expected) -> whether they are the same."""


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _close_tokens(found: str, expected: str) -> bool:
    one, other = found.split(), expected.split()
    return len(one) == len(other) and all(a == b or _close_number(a, b) for a, b in zip(one, other, strict=True))


def _close_number(found: str, expected: str) -> bool:
    if "_" in found or len(found) > 100 or not found.isascii():
        return False
    try:
        return _near(float(found), float(expected))
    except ValueError:
        return False


def _near(a: float, b: float) -> bool:
    """Whether two numbers are the same but for rounding. Infinities are near themselves, nan is near nan alone."""
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


TEXT: dict[str, Text] = {
    "exact": lambda found, expected: found == expected,
    "lines": lambda found, expected: _lines(found) == _lines(expected),
    "tokens": lambda found, expected: found.split() == expected.split(),
    "numbers": _close_tokens,  # words as `tokens`, numbers but for rounding
    "unordered": lambda found, expected: sorted(_lines(found)) == sorted(_lines(expected)),
}
"""Of standard outputs. `lines` ignores spaces at the ends of lines and empty lines at the end, as most judges do."""


def _alike(found: Any, expected: Any, *, types: bool, sequences: bool, close: bool) -> bool:
    """Whether two plain values are the same.

    `types`: 2 is not 2.0; `sequences`: a list is a tuple; `close`: numbers but for rounding. A bool is no number ever.
    """
    rules = {"types": types, "sequences": sequences, "close": close}
    one, other = type(found), type(expected)
    if one in _NUMBERS and other in _NUMBERS:
        if close:
            return _near_values(found, expected)
        return (one is other or not types) and (found == expected or (found != found and expected != expected))
    if one in (list, tuple) and other in (list, tuple):
        fits = sequences or one is other
        return fits and len(found) == len(expected) and all(_alike(a, b, **rules) for a, b in zip(found, expected))
    if one is not other:
        return False
    if one is dict:
        return _pairs_alike(found, expected, rules)
    if one in (set, frozenset):
        return len(found) == len(expected) and _bag(list(found), list(expected), rules)
    return found == expected


def _near_values(a: float, b: float) -> bool:
    try:
        return _near(float(a), float(b))
    except OverflowError:
        return a == b


def _pairs_alike(found: dict[Any, Any], expected: dict[Any, Any], rules: dict[str, bool]) -> bool:
    if len(found) != len(expected):
        return False
    kept = {(type(key), key) if rules["types"] or type(key) is bool else key: value for key, value in found.items()}
    for key, value in expected.items():
        at = (type(key), key) if rules["types"] or type(key) is bool else key
        if at not in kept or not _alike(kept[at], value, **rules):
            return False
    return True


def _bag(found: list[Any], expected: list[Any], rules: dict[str, bool]) -> bool:
    """Whether the same values stand in both, in any order. Values that may be close are sorted before."""
    if len(found) != len(expected):
        return False
    one, other = sorted(found, key=_order), sorted(expected, key=_order)
    return all(_alike(a, b, **rules) for a, b in zip(one, other, strict=True))


def _order(value: Any) -> tuple[str, Any, str]:
    """A key that sorts plain values of any types: numbers by size, so that close ones are neighbours."""
    if type(value) in _NUMBERS and value == value:
        return ("0", value, type(value).__name__)
    if type(value) in (set, frozenset):
        return (type(value).__name__, 0, repr(sorted(map(repr, value))))
    return (type(value).__name__, 0, repr(value))


def _unordered(found: Any, expected: Any) -> bool:
    kinds = (list, tuple, set, frozenset)
    if type(found) not in kinds or type(expected) not in kinds:
        return False
    return _bag(list(found), list(expected), {"types": False, "sequences": True, "close": False})


def _members(found: Any, expected: Any) -> bool:
    kinds = (list, tuple, set, frozenset, str, dict)
    if type(found) not in kinds:
        return False
    try:
        once = list({(type(one) is bool, one): one for one in found}.values())
    except TypeError:  # a member that no set can hold
        return False
    return _unordered(once, expected)


VALUES: dict[str, Values] = {
    "equal": lambda a, b: _alike(a, b, types=True, sequences=False, close=False),
    "python": lambda a, b: _alike(a, b, types=False, sequences=False, close=False),  # `==`, but True is not 1
    "json": lambda a, b: _alike(a, b, types=False, sequences=True, close=False),  # for values that came as JSON
    "close": lambda a, b: _alike(a, b, types=False, sequences=True, close=True),
    "unordered": _unordered,  # the members of a list, tuple or set in any order
    "members": _members,  # what `assert set(f(x)) == {...}` asks
    "truth": lambda a, b: bool(a) == b,  # what `assert f(x)` asks
}
"""Of returned values."""
