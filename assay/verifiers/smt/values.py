"""The value of a term where its variables have values: SMT-LIB's meaning, in whole numbers of Python.

Bit-vectors are numbers from 0 to 2**bits - 1 and wrap round. A division by zero gives all ones (`bvudiv`) or the
dividend (`bvurem`), as the standard says. `div` rounds so that the rest `mod` is never negative.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne

from assay.verifiers.smt.terms import Sort, Term, Variables

Values = Mapping[str, int]


def value(term: Term, values: Values) -> int:
    """The value of a term; truth values are 0 and 1.

    value(read("(bvadd x #b11)", {"x": 2}, 2), {"x": 2})  # 1
    """
    if term.operator == "value":
        assert term.value is not None
        return term.value
    if not term.arguments:
        return values[term.operator]
    if term.operator == "ite":
        return value(term.arguments[1 if value(term.arguments[0], values) else 2], values)
    if term.operator in ("and", "or"):
        return int((all if term.operator == "and" else any)(value(one, values) for one in term.arguments))
    found = [value(one, values) for one in term.arguments]
    first = term.arguments[0].sort
    if isinstance(first, int) and term.operator not in ("=", "distinct"):
        return _bits(term.operator, found, first)
    return _plain(term.operator, found)


def _plain(operator: str, found: Sequence[int]) -> int:
    first, rest = found[0], found[1:]
    match operator:
        case "+":
            return sum(found)
        case "-":
            return first - sum(rest) if rest else -first
        case "*":
            product = first
            for one in rest:
                product *= one
            return product
        case "mod":
            return first % abs(rest[0])
        case "div":
            return (first - first % abs(rest[0])) // rest[0]
        case "abs":
            return abs(first)
        case "not":
            return 1 - first
        case "xor":
            return sum(found) % 2
        case "=>":
            return int(not first or bool(rest[0]))
    return int(_compared(operator, first, rest[0]))


def _compared(operator: str, one: int, other: int) -> bool:
    return _COMPARISONS[operator](one, other)


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "=": eq,
    "distinct": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
_UNSIGNED = {"bvult": "<", "bvule": "<=", "bvugt": ">", "bvuge": ">="}
_SIGNED = {"bvslt": "<", "bvsle": "<=", "bvsgt": ">", "bvsge": ">="}


def _bits(operator: str, found: Sequence[int], bits: int) -> int:
    if operator in _UNSIGNED:
        return int(_compared(_UNSIGNED[operator], found[0], found[1]))
    if operator in _SIGNED:
        return int(_compared(_SIGNED[operator], signed(found[0], bits), signed(found[1], bits)))
    result, full = found[0], (1 << bits) - 1
    if operator == "bvnot":
        return full ^ result
    if operator == "bvneg":
        return -result & full
    for other in found[1:]:
        result = _two(operator, result, other, bits) & full
    return result


def _two(operator: str, one: int, other: int, bits: int) -> int:
    match operator:
        case "bvadd":
            return one + other
        case "bvsub":
            return one - other
        case "bvmul":
            return one * other
        case "bvand":
            return one & other
        case "bvor":
            return one | other
        case "bvxor":
            return one ^ other
        case "bvshl":
            return one << min(other, bits)
        case "bvlshr":
            return one >> min(other, bits)
        case "bvashr":
            return signed(one, bits) >> min(other, bits)
        case "bvudiv":
            return one // other if other else -1
    assert operator == "bvurem"
    return one % other if other else one


def signed(pattern: int, bits: int) -> int:
    """The number of a pattern of bits in two's complement."""
    return pattern - (1 << bits) if pattern >> (bits - 1) else pattern


def everywhere(variables: Variables, reach: int) -> Iterator[dict[str, int]]:
    """The values of the variables from -reach to reach; of bit-vectors, so many from both ends or all there are."""
    ranges = [_range(sort, reach) for sort in variables.values()]
    for values in itertools.product(*ranges):
        yield dict(zip(variables, values, strict=True))


def _range(sort: Sort, reach: int) -> Sequence[int]:
    if sort == "Bool":
        return range(2)
    near = range(-reach, reach + 1)
    if sort == "Int":
        return near
    size = 1 << int(sort)
    return range(size) if size <= len(near) else [one % size for one in near]
