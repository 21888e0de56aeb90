"""Comparators, by name: when an output is the expected one. A task declares one; none is guessed from the data.

A policy wrote the values that are compared, so no value may make a comparator raise, and none may make it slow. Values
are put in order by a form that is made of them (`form`): never by their text, because Python refuses to write large
integers, and never by their hash, because a program can choose it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

RELATIVE, ABSOLUTE = 1e-6, 1e-9  # how far numbers may lie apart where a comparator allows it
_NUMBERS = (int, float)
_SEQUENCES = (list, tuple)
_SETS = (set, frozenset)
_WHOLE = re.compile(r"([+-]?)0*(\d+)", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e([+-]?\d{1,3}))?", re.ASCII | re.IGNORECASE)
_SHOWN_BITS = 1000  # of integers that are shown by their digits
_LONGEST_DECIMAL = 100  # characters of a number that is no integer

Text = Callable[[str, str], bool]
Values = Callable[[Any, Any], bool]
"""(found, expected) -> whether they are the same."""


# --- numbers --------------------------------------------------------------------------------------------------


def near(found: float, expected: float) -> bool:
    """Whether a number is the expected one. A float may be rounded, an integer may not.

    Where an integer is expected, an integer must be equal, and a float must have this value too: `3.0` is 3, and
    `1e9` is no 1000000007. A float may miss it by the rounding of a sum (`ABSOLUTE`), which no estimate of a count
    does. Where a float is expected, both tolerances hold. Infinities are near themselves, nan is near nan alone.
    """
    if found == expected:
        return True
    try:
        left, right = float(found), float(expected)
    except OverflowError:  # an integer beyond all floats: no float is near it
        return False
    if type(expected) is int:
        return abs(expected) < 2**53 and math.isclose(left, right, rel_tol=0, abs_tol=ABSOLUTE)
    return (left != left and right != right) or math.isclose(left, right, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def _near_tokens(found: str, expected: str) -> bool:
    """`near`, of numbers that are written. Integers are compared by their digits, of which there may be any number."""
    if found == expected:
        return True
    one, other = _WHOLE.fullmatch(found), _WHOLE.fullmatch(expected)
    if one and other:
        (sign, digits), (wanted_sign, wanted) = one.groups(), other.groups()
        return digits == wanted and (digits == "0" or (sign == "-") == (wanted_sign == "-"))
    if not (_is_number(found) and _is_number(expected)):
        return False
    exact = _exact(found)
    if other:
        wanted = int(expected)
        return exact == wanted or near(float(found), wanted)
    return near(float(found), float(expected))


def _is_number(token: str) -> bool:
    if "_" in token or len(token) > _LONGEST_DECIMAL or not token.isascii():
        return False
    try:
        float(token)
    except ValueError:
        return False
    return True


def _exact(token: str) -> Fraction | None:
    """The value as it is written, which a float need not have: None for infinities, nan and huge exponents."""
    return Fraction(token) if _DECIMAL.fullmatch(token) else None


# --- outputs --------------------------------------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _close_tokens(found: str, expected: str) -> bool:
    one, other = found.split(), expected.split()
    return len(one) == len(other) and all(_near_tokens(a, b) for a, b in zip(one, other, strict=True))


TEXT: dict[str, Text] = {
    "exact": lambda found, expected: found == expected,
    "lines": lambda found, expected: _lines(found) == _lines(expected),
    "tokens": lambda found, expected: found.split() == expected.split(),
    "numbers": _close_tokens,  # words as `tokens`, floats but for rounding, integers exactly
    "unordered": lambda found, expected: sorted(_lines(found)) == sorted(_lines(expected)),
}
"""Of standard outputs. `lines` ignores spaces at the ends of lines and empty lines at the end, as most judges do."""


# --- values ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rules:
    """Rules by which two plain values are alike: `Rules(sequences=True)`. A bool is never a number."""

    types: bool = False  # 2 is not 2.0
    sequences: bool = False  # a list is a tuple
    close: bool = False  # floats but for rounding


EQUAL = Rules(types=True)
PYTHON = Rules()
JSON = Rules(sequences=True)
CLOSE = Rules(sequences=True, close=True)


def form(value: Any, rules: Rules) -> tuple[Any, ...]:
    """Equal for values that are alike by the rules, rounding aside; forms of any two plain values can be ordered.

    Each form begins with a number for its kind, so that only values of one kind are compared further: numbers by size,
    so that close ones are neighbours, texts by their characters, containers by length and then by their members.
    """
    kind = type(value)
    if value is None:
        return (0,)
    if kind is bool:
        return (1, value)
    if kind in _NUMBERS:
        return (3,) if value != value else (2, value, kind.__name__ if rules.types else "")
    if kind is str:
        return (4, value)
    if kind is bytes:
        return (5, value)
    if kind in _SEQUENCES:
        return (7 if kind is tuple and not rules.sequences else 6, len(value), *(form(item, rules) for item in value))
    if kind in _SETS:
        return (8, len(value), *sorted(form(item, rules) for item in value))
    pairs = sorted((form(key, rules), form(item, rules)) for key, item in value.items())
    return (9, len(value), *pairs)


def alike(found: Any, expected: Any, rules: Rules) -> bool:
    """Whether two plain values are the same by the rules: `alike([2.0], [2], Rules())`."""
    found_type, expected_type = type(found), type(expected)
    if found_type in _NUMBERS and expected_type in _NUMBERS:
        if rules.close:
            return near(found, expected)
        return (found_type is expected_type or not rules.types) and (
            found == expected or (found != found and expected != expected)
        )
    if found_type in _SEQUENCES and expected_type in _SEQUENCES:
        fits = (rules.sequences or found_type is expected_type) and len(found) == len(expected)
        return fits and all(alike(a, b, rules) for a, b in zip(found, expected, strict=True))
    if found_type in _SETS and expected_type in _SETS:
        return same_members(list(found), list(expected), rules)
    if found_type is not expected_type:
        return False
    if found_type is dict:
        return len(found) == len(expected) and all(
            a == b and alike(c, d, rules)
            for (a, c), (b, d) in zip(_by_key(found, rules), _by_key(expected, rules), strict=True)
        )
    return bool(found == expected)


def _by_key(value: dict[Any, Any], rules: Rules) -> list[tuple[tuple[Any, ...], Any]]:
    return sorted(((form(key, rules), one) for key, one in value.items()), key=lambda pair: pair[0])


def same_members(found: Sequence[Any], expected: Sequence[Any], rules: Rules) -> bool:
    """Whether the same values stand in both, in any order. Close numbers are paired by size."""
    if len(found) != len(expected):
        return False
    one, other = (sorted(values, key=lambda value: form(value, rules)) for values in (found, expected))
    return all(alike(a, b, rules) for a, b in zip(one, other, strict=True))


def shown(value: Any) -> str:
    """A value as text for people: always the same text for one value, so that sets are put in order; never an error."""
    kind = type(value)
    if kind is int and value.bit_length() > _SHOWN_BITS:
        return f"an integer of {value.bit_length()} bits"
    if kind in _SETS:
        return "{" + ", ".join(map(shown, sorted(value, key=lambda one: form(one, EQUAL)))) + "}" if value else "set()"
    if kind is dict:
        return "{" + ", ".join(f"{shown(key)}: {shown(one)}" for key, one in value.items()) + "}"
    if kind is list:
        return f"[{', '.join(map(shown, value))}]"
    if kind is tuple:
        return f"({', '.join(map(shown, value))}{',' * (len(value) == 1)})"
    return repr(value)


def _unordered(found: Any, expected: Any) -> bool:
    kinds = (*_SEQUENCES, *_SETS)
    fits = type(found) in kinds and type(expected) in kinds
    return fits and same_members(list(found), list(expected), Rules(sequences=True))


VALUES: dict[str, Values] = {
    "equal": lambda a, b: alike(a, b, EQUAL),
    "python": lambda a, b: alike(a, b, PYTHON),  # `==`, but True is not 1
    "json": lambda a, b: alike(a, b, JSON),  # for values that came as JSON
    "close": lambda a, b: alike(a, b, CLOSE),  # as `json`, floats but for rounding, integers exactly
    "unordered": _unordered,  # the members of a list, tuple or set in any order
    "truth": lambda a, b: bool(a) == b,  # what `assert f(x)` asks
}
"""Of returned values."""
