"""Closeness as numpy and pytest define it, for tests that ask for it by their names.

numpy: |a - b| <= atol + rtol |b|, where b is the second argument; the two arguments are no equals.
pytest: |found - expected| <= max(rel |expected|, abs); if `abs` alone is given, it is the tolerance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

_NUMBERS = (int, float)


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """`numpy.isclose` of two numbers. Arrays raise TypeError, because their result would be an array and no truth."""
    a, b, rtol, atol = float(a), float(b), float(rtol), float(atol)
    if math.isnan(a) or math.isnan(b):
        return equal_nan and math.isnan(a) and math.isnan(b)
    if math.isinf(a) or math.isinf(b):
        return a == b
    return abs(a - b) <= atol + rtol * abs(b)


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """`numpy.allclose` of numbers or nested lists of one shape; a number beside a list stands for each member."""
    one, other = type(a) in (list, tuple), type(b) in (list, tuple)
    if not one and not other:
        return isclose(a, b, rtol, atol, equal_nan)
    if one and other and len(a) != len(b):
        raise ValueError(f"lists of {len(a)} and {len(b)} numbers")
    pairs = zip(a, b, strict=True) if one and other else [(x, b) for x in a] if one else [(a, y) for y in b]
    return all(allclose(x, y, rtol, atol, equal_nan) for x, y in pairs)


@dataclass(frozen=True)
class Approx:
    """The value of `pytest.approx(expected, rel=..., abs=...)`: `near(found, Approx(0.5, None, None, False))`."""

    expected: Any
    rel: float | None
    abs: float | None
    nan_ok: bool


def approx(expected: Any, rel: float | None = None, abs: float | None = None, nan_ok: bool = False) -> Approx:
    return Approx(expected, rel, abs, nan_ok)


def near(found: Any, wanted: Approx) -> bool:
    """Whether a value is approximately the wanted one: numbers, and lists, tuples and dicts of them."""
    expected = wanted.expected
    inner = lambda one: Approx(one, wanted.rel, wanted.abs, wanted.nan_ok)  # noqa: E731
    if type(expected) in (list, tuple):
        fits = type(found) in (list, tuple) and len(found) == len(expected)
        return fits and all(near(a, inner(b)) for a, b in zip(found, expected, strict=True))
    if type(expected) is dict:
        return type(found) is dict and found.keys() == expected.keys() and all(
            near(found[key], inner(one)) for key, one in expected.items()
        )  # fmt: skip
    if type(found) not in _NUMBERS or type(expected) not in _NUMBERS:
        return type(found) is type(expected) and found == expected
    if found == expected:
        return True
    if math.isnan(expected):
        return wanted.nan_ok and math.isnan(found)
    if math.isinf(expected) or math.isinf(found) or math.isnan(found):
        return False
    absolute = 1e-12 if wanted.abs is None else wanted.abs
    relative = wanted.rel if wanted.rel is not None else 1e-6 if wanted.abs is None else 0.0
    return abs(found - expected) <= max(absolute, relative * abs(expected))
