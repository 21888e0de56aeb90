"""The value of a term where its variables have values: SMT-LIB's meaning, in whole numbers and fractions of Python.

Bit-vectors are numbers from 0 to 2**bits - 1 and wrap round. A division by zero gives all ones (`bvudiv`) or the
dividend (`bvurem`), as the standard says; of other numbers it has no value that the standard fixes. `div` rounds so
that the rest `mod` is never negative.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import floor, prod
from operator import eq, ge, gt, le, lt

from assay.verifiers.smt.terms import Number, SmtTerm, Sort, Variables, indices

Values = Mapping[str, Number]


class Undefined(ArithmeticError):
    """A term divides by zero at these values."""


def value(term: SmtTerm, values: Values) -> Number:
    """The value of a term; truth values are 0 and 1. Raises Undefined.

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
        return int((all if term.operator == "and" else any)(value(argument, values) for argument in term.arguments))
    if term.operator == "=>":
        *premises, last = term.arguments
        return int(not all(value(premise, values) for premise in premises) or bool(value(last, values)))
    numbers = [value(argument, values) for argument in term.arguments]
    first = term.arguments[0].sort
    if isinstance(first, int) and term.operator not in ("=", "distinct"):
        return _of_bits(term, [int(number) for number in numbers])
    return _plain(term.operator, numbers)


def _plain(operator: str, found: Sequence[Number]) -> Number:
    first, rest = found[0], found[1:]
    match operator:
        case "+":
            return sum(found)
        case "-":
            return first - sum(rest) if rest else -first
        case "*":
            return prod(found)
        case "mod" | "div" | "/":
            return _divided(operator, first, rest)
        case "abs":
            return abs(first)
        case "not":
            return 1 - first
        case "xor":
            return sum(found) % 2
        case "to_real":
            return Fraction(first)
        case "to_int":
            return floor(first)
        case "is_int":
            return int(first == floor(first))
        case "distinct":
            return int(len(set(found)) == len(found))
    return int(all(map(_COMPARISONS[operator], found, rest)))


def _divided(operator: str, first: Number, rest: Sequence[Number]) -> Number:
    if not all(rest):
        raise Undefined("it divides by 0")
    if operator == "/":
        return Fraction(first) / prod(rest)
    left = first % abs(rest[0])
    return left if operator == "mod" else (first - left) // rest[0]


_COMPARISONS: dict[str, Callable[[Number, Number], bool]] = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}
_UNSIGNED = {"bvult": "<", "bvule": "<=", "bvugt": ">", "bvuge": ">="}
_SIGNED = {"bvslt": "<", "bvsle": "<=", "bvsgt": ">", "bvsge": ">="}


def _of_bits(term: SmtTerm, found: Sequence[int]) -> int:
    """The value of an operator on bit-vectors. If its arguments are of one sort, the first of them says its length."""
    lengths = [int(one.sort) for one in term.arguments]
    if term.operator == "concat":
        joined = 0
        for pattern, bits in zip(found, lengths, strict=True):
            joined = joined << bits | pattern
        return joined
    if term.operator.startswith("(_"):
        return _with_indices(*indices(term.operator), found[0], lengths[0])
    return _bits(term.operator, found, lengths[0])


def _with_indices(name: str, numbers: Sequence[int], pattern: int, bits: int) -> int:
    if name == "extract":
        return pattern >> numbers[1] & ((1 << (numbers[0] - numbers[1] + 1)) - 1)
    return pattern if name == "zero_extend" else signed(pattern, bits) % (1 << (bits + numbers[0]))


def _bits(operator: str, found: Sequence[int], bits: int) -> int:
    if operator in _UNSIGNED:
        return int(_COMPARISONS[_UNSIGNED[operator]](found[0], found[1]))
    if operator in _SIGNED:
        return int(_COMPARISONS[_SIGNED[operator]](signed(found[0], bits), signed(found[1], bits)))
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


def everywhere(variables: Variables, reach: int) -> Iterator[dict[str, Number]]:
    """The values of the variables from -reach to reach, of Reals by halves.

    Of bit-vectors they are so many from both ends, or all there are.
    """
    ranges = [_range(sort, reach) for sort in variables.values()]
    for values in itertools.product(*ranges):
        yield dict(zip(variables, values, strict=True))


def _range(sort: Sort, reach: int) -> Sequence[Number]:
    if sort == "Bool":
        return range(2)
    if sort == "Real":
        return [Fraction(half, 2) for half in range(-2 * reach, 2 * reach + 1)]
    near = range(-reach, reach + 1)
    if sort == "Int":
        return near
    size = 1 << int(sort)
    return range(size) if size <= len(near) else [one % size for one in near]
