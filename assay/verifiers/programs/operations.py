"""The operations that a test may make of a returned value or of a constant: a closed table over plain values.

They are Python's own, on values of exact built-in types, and none of them is slow: a large value is refused
before it is computed, because a value comes from a policy and a constant from a file. Nothing here calls a program.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from assay.verifiers.programs import tolerances
from assay.verifiers.programs.compare import EQUAL, JSON, PYTHON, alike, form
from assay.verifiers.programs.plain import NotPlain, table

LARGEST_INT = 14_000  # bits: fewer digits than Python writes at most, so that its limit decides nothing
LARGEST_SIZE = 1 << 20  # members or characters of a value
RAISED = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError)
TYPES: dict[str, type] = {
    one.__name__: one for one in (int, float, str, bool, bytes, list, tuple, dict, set, frozenset)
}  # fmt: skip


class TooLarge(Exception):
    """A value, given or about to be computed, is larger than a test needs."""


def weight(value: Any) -> int:
    """How many steps it takes to walk through a value: members, and long texts and integers by their length."""
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        return 1 + sum(map(weight, value))
    if kind is dict:
        return 1 + sum(weight(key) + weight(one) for key, one in value.items())
    if kind in (str, bytes):
        return 1 + len(value) // 64
    return 1 + value.bit_length() // 64 if kind is int else 1


def _sized(size: int) -> None:
    if size > LARGEST_SIZE:
        raise TooLarge(f"more than {LARGEST_SIZE} members or characters")


def _small(*values: Any) -> None:
    for value in values:
        if type(value) is int and value.bit_length() > LARGEST_INT:
            raise TooLarge(f"an integer of more than {LARGEST_INT} bits")


def _numbers(*values: Any) -> bool:
    return all(type(value) in (int, float, bool) for value in values)


# --- arithmetic -----------------------------------------------------------------------------------------------


def _times(a: Any, b: Any) -> Any:
    for one, count in ((a, b), (b, a)):
        if type(one) in (str, bytes, list, tuple) and type(count) in (int, bool):
            _sized(len(one) * max(count, 0))
    return a * b


def _power(a: Any, b: Any, modulus: Any = None) -> Any:
    if not _numbers(a, b):
        raise TypeError("a power of what is no number")
    if modulus is not None:
        return pow(a, b, modulus)
    if type(a) in (int, bool) and type(b) in (int, bool) and int(a).bit_length() * abs(b) > LARGEST_INT:
        raise TooLarge(f"an integer of more than {LARGEST_INT} bits")
    found = a**b
    if type(found) is complex:
        raise ValueError("a complex number")
    return found


def _left(a: Any, b: Any) -> Any:
    if type(a) is int and type(b) is int and a.bit_length() + b > LARGEST_INT:
        raise TooLarge(f"an integer of more than {LARGEST_INT} bits")
    return a << b


def _rest(a: Any, b: Any) -> Any:
    if not _numbers(a, b):
        raise TypeError("a remainder of what is no number")
    return a % b


def _of_numbers(function: Callable[..., Any], most: int = 0) -> Callable[..., Any]:
    """A function of the module math. `most` bounds its arguments where the result grows with them."""

    def bounded(*values: Any) -> Any:
        if most and any(_numbers(one) and one > most for one in values):
            raise TooLarge(f"math.{function.__name__} of more than {most}")
        return function(*values)

    return bounded


_MATH = ("sqrt", "floor", "ceil", "trunc", "fabs", "exp", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos",
         "atan", "atan2", "degrees", "radians", "hypot", "gcd", "lcm", "isqrt", "isnan", "isinf", "isfinite",
         "copysign", "fsum")  # fmt: skip
_MODULES = {"math.pow": math.pow, "math.isclose": math.isclose} | {
    f"math.{name}": _of_numbers(getattr(math, name)) for name in _MATH
} | {f"math.{name}": _of_numbers(getattr(math, name), 1000) for name in ("factorial", "comb", "perm")}  # fmt: skip
CONSTANTS = {"math.pi": math.pi, "math.e": math.e, "math.inf": math.inf, "math.nan": math.nan, "math.tau": math.tau,
             "numpy.pi": math.pi, "numpy.inf": math.inf, "numpy.nan": math.nan}  # fmt: skip


# --- comparisons ----------------------------------------------------------------------------------------------


def same(a: Any, b: Any) -> bool:
    """`a == b` as the comparator `python` has it; of types and ranges, which are no plain data, as Python has it."""
    for one, other in ((a, b), (b, a)):
        if type(one) is tolerances.Approx:
            return tolerances.near(other, one)
    odd = (range, type)
    return bool(a == b) if type(a) in odd or type(b) in odd else alike(a, b, PYTHON)


def _differ(a: Any, b: Any) -> bool:
    """Two values differ only if they differ in both senses, because an answer cannot choose the sense."""
    return not same(a, b) and (tolerances.Approx in (type(a), type(b)) or bool(a != b))


def _within(a: Any, b: Any) -> bool:
    if type(b) is range:
        return type(a) in (int, float, bool) and int(a) == a and int(a) in b
    if type(b) in (list, tuple, set, frozenset, dict):
        return any(same(a, one) for one in b)
    return a in b


def _outside(a: Any, b: Any) -> bool:
    return not _within(a, b) and (type(b) is range or a not in b)


# --- functions ------------------------------------------------------------------------------------------------


def members(value: Any) -> list[Any]:
    """The members of a value in order. A set is sorted, so that no verdict depends on Python's tables."""
    if type(value) is range:
        _sized(len(value))
    return sorted(value, key=lambda one: form(one, EQUAL)) if type(value) in (set, frozenset) else list(value)


def _set(value: Any = ()) -> set[Any]:
    return set(table(members(value)))


def _dict(value: Any = (), **named: Any) -> dict[Any, Any]:
    pairs = list(value.items()) if type(value) is dict else [(key, one) for key, one in value]
    table([key for key, _ in pairs])
    return dict(pairs) | named


def _counter(value: Any = ()) -> dict[Any, int]:
    if type(value) is dict:
        return value
    ones = members(value)
    found: dict[Any, int] = dict.fromkeys(table(ones), 0)
    for one in ones:
        found[one] += 1
    return found


def _sum(value: Any, start: Any = 0) -> Any:
    found = start
    for one in members(value):
        if not _numbers(one, found):
            raise TypeError("a sum of what are no numbers")
        found = found + one
        _small(found)
    return found


def _text(value: Any = "") -> str:
    return value if type(value) is str else _repr(value)


def _repr(value: Any) -> str:
    inside = _inside(value)
    _small(*inside)
    if any(type(one) in (set, frozenset) for one in inside):
        raise TypeError("the text of a set, whose members have no order")
    return repr(value)


def _inside(value: Any) -> list[Any]:
    """All that a value holds, itself included."""
    if type(value) is dict:
        return [value, *(one for pair in value.items() for part in pair for one in _inside(part))]
    if type(value) in (list, tuple, set, frozenset):
        return [value, *(one for part in value for one in _inside(part))]
    return [value]


def _int(value: Any = 0, *base: Any, **named: Any) -> int:
    if type(value) in (str, bytes) and len(value) > LARGEST_INT // 8:
        raise TooLarge("an integer of that many digits")
    return int(value, *base, **named)


def _round(value: Any, ndigits: Any = None) -> Any:
    if type(ndigits) is int and abs(ndigits) > 400:
        raise TooLarge("rounding to that many digits")
    return round(value) if ndigits is None else round(value, ndigits)


def _is_instance(value: Any, kinds: Any) -> bool:
    return isinstance(value, kinds)


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    def found(first: Any, *others: Any, **named: Any) -> Any:
        return function([first, *others] if others else members(first), **named)

    return found


def _of_members(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the members of a value."""
    return lambda value, *rest, **named: function(members(value), *rest, **named)


def _zip(*values: Any) -> list[Any]:
    return list(zip(*map(members, values), strict=False))


def _reversed(value: Any) -> list[Any]:
    if type(value) in (set, frozenset):
        raise TypeError("a set has no order to turn")
    return members(value)[::-1]


def _enumerate(value: Any, start: int = 0) -> list[Any]:
    return list(enumerate(members(value), start))


def _item(value: Any, place: Any) -> Any:
    return value[place]


def _display(kind: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *members: kind(members)


# --- methods --------------------------------------------------------------------------------------------------


def _replaced(text: str, old: str, new: str, *count: int) -> str:
    _sized((len(text) + 1) * (len(new) + 1) if len(old) < 2 else len(text) * (len(new) + 1) // len(old) + len(text))
    return text.replace(old, new, *count)


def _joined(text: str, parts: Any) -> str:
    joined = members(parts)
    _sized(sum(len(one) + len(text) for one in joined))
    return text.join(joined)


def _padded(name: str) -> Callable[..., Any]:
    def padded(text: str, width: int, *fill: str) -> str:
        _sized(width)
        return getattr(text, name)(width, *fill)

    return padded


_OF_TEXT = (
    "lower",
    "upper",
    "strip",
    "lstrip",
    "rstrip",
    "split",
    "rsplit",
    "splitlines",
    "startswith",
    "endswith",
    "find",
    "rfind",
    "isdigit",
    "isnumeric",
    "isdecimal",
    "isalpha",
    "isalnum",
    "isupper",
    "islower",
    "isspace",
    "title",
    "capitalize",
    "swapcase",
    "casefold",
    "removeprefix",
    "removesuffix",
    "partition",
    "rpartition",
)
_METHODS: dict[str, dict[type, Callable[..., Any]]] = {name: {str: getattr(str, name)} for name in _OF_TEXT} | {
    "replace": {str: _replaced},
    "join": {str: _joined},
    **{name: {str: _padded(name)} for name in ("zfill", "ljust", "rjust", "center")},
    "count": {str: str.count, list: list.count, tuple: tuple.count},
    "index": {str: str.index, list: list.index, tuple: tuple.index},
    "copy": {list: list.copy, dict: dict.copy, set: set.copy},
    "get": {dict: dict.get},
    "keys": {dict: lambda value: list(value)},
    "values": {dict: lambda value: list(value.values())},
    "items": {dict: lambda value: list(value.items())},
    **{name: {set: getattr(set, name), frozenset: getattr(frozenset, name)}
       for name in ("issubset", "issuperset", "isdisjoint")},
    "union": {set: lambda a, b: _set([*a, *b])},
    "intersection": {set: lambda a, b: a & _set(b)},
    "difference": {set: lambda a, b: a - _set(b)},
    "is_integer": {float: float.is_integer},
    "bit_length": {int: int.bit_length},
}  # fmt: skip
VIEWS = {".keys", ".values", ".items", "zip", "enumerate", "reversed"}  # Python makes no lists of these


def _method(name: str) -> Callable[..., Any]:
    kinds = _METHODS[name]

    def called(value: Any, *rest: Any, **named: Any) -> Any:
        if type(value) not in kinds:
            raise AttributeError(f"{type(value).__name__} has no method '{name}' that is read")
        return kinds[type(value)](value, *rest, **named)

    return called


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "set": _set, "frozenset": lambda value=(): frozenset(_set(value)), "list": lambda value=(): members(value),
    "tuple": lambda value=(): tuple(members(value)), "dict": _dict, "sorted": _of_members(sorted),
    "reversed": _reversed, "zip": _zip, "enumerate": _enumerate, "range": range, "len": len,
    "sum": _sum, "min": _extreme(min), "max": _extreme(max), "all": all, "any": any,
    "abs": abs, "round": _round, "pow": _power, "divmod": divmod, "str": _text, "repr": _repr,
    "int": _int, "float": float, "bool": bool, "chr": chr, "ord": ord, "bin": bin, "hex": hex, "type": type,
    "isinstance": _is_instance, "collections.Counter": _counter, "copy.deepcopy": lambda value: value,
    "copy.copy": lambda value: value, **_MODULES,
    "numpy.isclose": tolerances.isclose, "numpy.allclose": tolerances.allclose,
    "pytest.approx": tolerances.approx,
}  # fmt: skip
"""Functions by the names that tests call them by."""

SIGNS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": _times, "/": operator.truediv, "//": operator.floordiv, "%": _rest,
    "**": _power, "<<": _left, ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "negative": operator.neg, "positive": operator.pos, "~": operator.invert, "not": operator.not_,
    "==": same, "json ==": lambda a, b: alike(a, b, JSON), "!=": _differ,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": _within, "not in": _outside, "is": operator.is_, "is not": operator.is_not, "[]": _item, "slice": slice,
    "a list": _display(list), "a tuple": _display(tuple), "a set": _display(lambda ones: set(table(ones))),
    "a dict": lambda *both: _dict(list(zip(both[::2], both[1::2], strict=True))),
}  # fmt: skip
"""The functions behind the signs and brackets of Python."""

OPERATIONS: Mapping[str, Callable[..., Any]] = FUNCTIONS | SIGNS | {f".{name}": _method(name) for name in _METHODS}
_ANY_INT = {"==", "!=", "in", "not in", "is", "is not", "not", "[]", "len", "isinstance", "type", "bool",
            "a list", "a tuple", "a dict", "a set", "<", "<=", ">", ">="}  # fmt: skip


def applied(name: str, values: list[Any], named: Mapping[str, Any]) -> Any:
    """The value that an operation makes of values. Raises `TooLarge`, or an error of Python's own (`RAISED`)."""
    if name not in _ANY_INT:
        _small(*values)
    if name not in ("in", "not in", "==", "!="):
        for value in values:
            _sized(len(value) if type(value) is range else 0)
    try:
        found = OPERATIONS[name](*values, **named)
    except NotPlain as error:
        raise TooLarge(str(error)) from None
    if type(found) in (str, list, tuple):
        _sized(len(found))
    return found
