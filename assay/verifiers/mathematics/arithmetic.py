"""Exact arithmetic on expression trees, with limits on the bits of numbers and the degree of polynomials.

Numbers are compared as fractions. Rational functions are compared at random points modulo random primes. Two different
functions agree at such a point with a probability of about degree / 2^61, and three points are tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from assay.rng import Key
from assay.verifiers.mathematics.expressions import TooBig, Tree, spelled

MOST_BITS = 100_000  # of an exact number
MOST_FACTORIAL = 2_000
MOST_ROOT = 100
MOST_DEGREE = 1_000


def bits(value: Fraction) -> int:
    """The bits of the numerator or the denominator, whichever is longer."""
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def number_of(tree: Tree) -> Fraction | None:
    """The exact value of a tree; None if it has symbols, irrational roots or a division by zero."""
    if tree[0] == "number":
        return tree[1]
    if tree[0] not in _EXACT:
        return None
    operands = [number_of(part) for part in tree[1:]]
    return applied(tree[0], [operand for operand in operands if operand is not None], len(operands))


def applied(operation: str, operands: Sequence[Fraction], wanted: int) -> Fraction | None:
    """The exact value of an operation on `wanted` operands; None if an operand or the operation has no exact value."""
    if operation not in _EXACT or len(operands) != wanted:
        return None
    value = _EXACT[operation](*operands)
    if value is not None and bits(value) > MOST_BITS:
        raise TooBig
    return value


def _power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator != 1:
        root = _root(base, Fraction(exponent.denominator))
        return None if root is None else _power(root, Fraction(exponent.numerator))
    if base in (0, 1, -1):
        if base == 0:
            return Fraction(0) if exponent > 0 else None
        return base if exponent.numerator % 2 else Fraction(1)
    if bits(base) * abs(exponent.numerator) > MOST_BITS:
        raise TooBig
    return base**exponent.numerator


def _root(value: Fraction, degree: Fraction = Fraction(2)) -> Fraction | None:
    """The real root of a whole degree; None if it is not rational."""
    n = degree.numerator
    if degree.denominator != 1 or not 2 <= n <= MOST_ROOT or (value < 0 and n % 2 == 0):
        return None
    top, bottom = _whole_root(abs(value.numerator), n), _whole_root(value.denominator, n)
    if (top**n, bottom**n) != (abs(value.numerator), value.denominator):
        return None
    return Fraction(top if value >= 0 else -top, bottom)


def _whole_root(value: int, degree: int) -> int:
    """The root of a whole number, rounded down, by Newton's method from above."""
    if degree == 2 or value < 2:
        return math.isqrt(value) if degree == 2 else value
    guess = 1 << -(-value.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better


def _factorial(value: Fraction) -> Fraction | None:
    if value.denominator != 1 or value < 0:
        return None
    if value > MOST_FACTORIAL:
        raise TooBig
    return Fraction(math.factorial(value.numerator))


def _double_factorial(value: Fraction) -> Fraction | None:
    """n (n - 2) (n - 4) ..., down to 2 or 1. None up to 3, where the signs may be a mere exclamation."""
    if value.denominator != 1 or value <= 3:
        return None
    if value > MOST_FACTORIAL:
        raise TooBig
    return Fraction(math.prod(range(value.numerator, 0, -2)))


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
    "!!": _double_factorial,
    "root": _root,
    "binomial": _binomial,
    "abs": lambda a: abs(a),
    "floor": lambda a: Fraction(math.floor(a)),
    "ceil": lambda a: Fraction(math.ceil(a)),
}


def terminates(value: Fraction) -> bool:
    """Whether a number can be written as a finite decimal."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def symbols(tree: Tree) -> set[str]:
    if tree[0] == "symbol":
        return {tree[1]}
    return set().union(*(symbols(part) for part in tree[1:] if isinstance(part, tuple)))


def rational(tree: Tree) -> bool:
    """Whether a tree is a rational function: sums, products, quotients and constant whole powers of symbols."""
    operation = tree[0]
    if operation in ("number", "symbol"):
        return True
    if operation == "^":
        exponent = number_of(tree[2])
        whole = exponent is not None and exponent.denominator == 1 and abs(exponent) <= MOST_DEGREE
        return whole and rational(tree[1])
    if operation in ("+", "-", "*", "/"):
        return all(rational(part) for part in tree[1:])
    return number_of(tree) is not None


def same_function(one: Tree, other: Tree, *, points: int = 3) -> bool:
    """Whether two rational functions over the rationals are equal, by their values at random points modulo primes."""
    names = sorted(symbols(one) | symbols(other))
    key = Key("identity", spelled(one), spelled(other))
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
    if operation not in ("+", "-", "*", "/", "^"):
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
    """The first prime from an odd start of 62 bits on, by Miller-Rabin with bases that are exact below 3.3e24."""
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
