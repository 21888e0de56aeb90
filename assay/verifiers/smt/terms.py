"""Terms of SMT-LIB over numbers, truth values and bit-vectors: a part of the language, read by a grammar of ours.

A text is one term. It has no commands, quantifiers, definitions or bindings: a name is a variable that the problem
declares, and an operator is one of the tables below. A solver never sees a text: it gets the term that was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

LONGEST = 2_000  # characters of a text
MOST_NODES, DEEPEST = 200, 30
MOST_BITS = 32
LARGEST = 10**9  # of a whole number that is written down

Sort = str | int
"""`"Int"`, `"Real"`, `"Bool"`, or the number of bits of a bit-vector."""
Number = int | Fraction
Variables = Mapping[str, Sort]


class Unreadable(ValueError):
    """The text is no term of the problem; the message says why."""


@dataclass(frozen=True)
class SmtTerm:
    """A term of a sort: an operator with its arguments, a variable, or a constant.

    Example:
        read("(< (+ a 1) b)", {"a": "Int", "b": "Int"})
        # SmtTerm("<", "Bool", (SmtTerm("+", "Int", (...)), SmtTerm("b", "Int")))
    """

    operator: str  # of a variable its name; of a constant "value"; with indices as in "(_ extract 3 1)"
    sort: Sort
    arguments: tuple[SmtTerm, ...] = ()
    value: Number | None = None  # of a constant; 0 or 1 of a truth value; of a Real a fraction

    def __iter__(self) -> Iterator[SmtTerm]:
        """The term and all that it is made of."""
        yield self
        for argument in self.arguments:
            yield from argument


ARITHMETIC = ("+", "-", "*")
WHOLE = ("div", "mod", "abs")
CONVERSIONS = {"to_real": ("Int", "Real"), "to_int": ("Real", "Int"), "is_int": ("Real", "Bool")}
ORDER = ("<", "<=", ">", ">=")
LOGIC = ("not", "and", "or", "xor", "=>")
BITS = ("bvadd", "bvsub", "bvmul", "bvand", "bvor", "bvxor", "bvshl", "bvlshr", "bvashr", "bvudiv", "bvurem")
BIT_UNARY = ("bvnot", "bvneg")
BIT_ORDER = ("bvult", "bvule", "bvugt", "bvuge", "bvslt", "bvsle", "bvsgt", "bvsge")
INDEXED = {"extract": 2, "zero_extend": 1, "sign_extend": 1}  # with so many numbers: ((_ extract 3 1) x)
_MANY = frozenset(
    (
        *("+", "*", "/", "and", "or", "xor", "=>", "=", "distinct", *ORDER),
        *("bvadd", "bvmul", "bvand", "bvor", "bvxor", "concat"),
    )
)
"""Operators that take any number of arguments from two on; comparisons then hold for each and the next."""

_TOKEN = re.compile(r"[()]|[^\s()]+")
_NUMBER = re.compile(r"0|[1-9][0-9]*")
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,9})\.[0-9]{1,9}")
_BINARY, _HEXADECIMAL = re.compile(r"#b([01]+)"), re.compile(r"#x([0-9a-fA-F]+)")


def read(text: str, variables: Variables, sort: Sort = "Bool", *, computed: bool = False) -> SmtTerm:
    """The term of this sort that a text states. Raises Unreadable for anything else.

    Products of variables and divisors with variables are read only if the term will be `computed`, where its variables
    have values: no solver decides them in general.
    """
    if len(text) > LONGEST:
        raise Unreadable(f"longer than {LONGEST} characters")
    if not text.isascii() or not all(c.isprintable() or c in "\n\t" for c in text):
        raise Unreadable("a character that no term has")
    tokens = _TOKEN.findall(text)
    if len(tokens) > 4 * MOST_NODES:
        raise Unreadable(f"more than {MOST_NODES} operators and names")
    term, end = _Reader(tokens, variables).term(0, 0)
    if end < len(tokens):
        raise Unreadable(f"something behind the term: {tokens[end][:20]}")
    if sort == "Real":
        (term,) = _as_reals((term,))
    if term.sort != sort:
        raise Unreadable(f"a term of sort {named(term.sort)}, not {named(sort)}")
    for subterm in () if computed else term:
        _require_linear(subterm)
    return term


def _require_linear(term: SmtTerm) -> None:
    """Raises Unreadable for a product of variables, or a divisor that may be 0."""
    if term.operator == "*" and sum(not _constant(one) for one in term.arguments) > 1:
        raise _wrong("*", "one factor with variables: products of variables cannot be decided")
    divisors = term.arguments[1:] if term.operator in ("div", "mod", "/") else ()
    if any(one.operator != "value" for one in divisors):
        raise _wrong(term.operator, "a number other than 0 as divisor")


def named(sort: Sort) -> str:
    """A sort as SMT-LIB writes it."""
    return sort if isinstance(sort, str) else f"(_ BitVec {sort})"


def write(term: SmtTerm) -> str:
    """The text of a term: `read(write(term), ...)` is the term again."""
    if term.operator == "value":
        assert term.value is not None
        if term.sort == "Bool":
            return "true" if term.value else "false"
        if term.sort in ("Int", "Real"):
            return _written(term.value) if term.value >= 0 else f"(- {_written(-term.value)})"
        return f"(_ bv{term.value} {term.sort})"  # and not #b0101: in compact wording a # begins the answer
    if not term.arguments:
        return term.operator
    return f"({term.operator} {' '.join(map(write, term.arguments))})"


def _written(value: Number) -> str:
    if isinstance(value, int):
        return str(value)
    whole = f"{value.numerator}.0"
    return whole if value.denominator == 1 else f"(/ {whole} {value.denominator}.0)"


def number(value: Number, sort: Sort = "Int") -> SmtTerm:
    """A constant of a sort; of a bit-vector modulo its range."""
    if sort == "Real":
        return SmtTerm("value", sort, value=Fraction(value))
    return SmtTerm("value", sort, value=value if isinstance(sort, str) else value % (1 << sort))


def plain(term: SmtTerm) -> list[object]:
    """The term as lists of texts and numbers, as a job of an external has it."""
    if term.operator == "value":
        return ["value", term.sort, str(term.value) if term.sort == "Real" else term.value]
    if not term.arguments:
        return ["variable", term.sort, term.operator]
    return [term.operator, *map(plain, term.arguments)]


def substituted(term: SmtTerm, values: Mapping[str, SmtTerm]) -> SmtTerm:
    """The term with terms in the places of variables, all at once."""
    if not term.arguments:
        return values.get(term.operator, term) if term.operator != "value" else term
    return SmtTerm(term.operator, term.sort, tuple(substituted(one, values) for one in term.arguments))


def negated(term: SmtTerm) -> SmtTerm:
    return SmtTerm("not", "Bool", (term,))


def both(first: SmtTerm, *rest: SmtTerm) -> SmtTerm:
    return SmtTerm("and", "Bool", (first, *rest)) if rest else first


def differ(one: SmtTerm, other: SmtTerm) -> SmtTerm:
    return negated(SmtTerm("=", "Bool", (one, other)))


class _Reader:
    def __init__(self, tokens: Sequence[str], variables: Variables) -> None:
        self.tokens, self.variables, self.nodes = tokens, variables, 0

    def term(self, place: int, depth: int) -> tuple[SmtTerm, int]:
        """The term that begins at a token, and the place of the token behind it."""
        self.nodes += 1
        if depth > DEEPEST or self.nodes > MOST_NODES:
            raise Unreadable(f"nested deeper than {DEEPEST}" if depth > DEEPEST else f"more than {MOST_NODES} terms")
        token = self._token(place)
        if token == ")":
            raise Unreadable("an operator without arguments")
        if token != "(":
            return self._atom(token), place + 1
        operator = self._token(place + 1)
        if operator == "_":
            return self._literal(place)
        operator, place = self._indexed(place + 1) if operator == "(" else (operator, place + 2)
        arguments: list[SmtTerm] = []
        while self._token(place) != ")":
            argument, place = self.term(place, depth + 1)
            arguments.append(argument)
        return _applied(operator, tuple(arguments)), place + 1

    def _indexed(self, place: int) -> tuple[str, int]:
        """`(_ extract 3 1)`: an operator with numbers, and the place of the token behind it."""
        name = self._token(place + 2) if self._token(place + 1) == "_" else ""
        numbers = [self._token(place + 3 + i) for i in range(INDEXED.get(name, 0))]
        known = bool(numbers) and all(_NUMBER.fullmatch(one) and len(one) < 3 for one in numbers)
        if not known or self._token(place + 3 + len(numbers)) != ")":
            raise Unreadable(f"of operators with numbers only {', '.join(INDEXED)} are known")
        return f"(_ {name} {' '.join(numbers)})", place + 4 + len(numbers)

    def _token(self, place: int) -> str:
        if place >= len(self.tokens):
            raise Unreadable("the text ends within the term")
        return self.tokens[place]

    def _atom(self, token: str) -> SmtTerm:
        if token in self.variables:
            return SmtTerm(token, self.variables[token])
        if token in ("true", "false"):
            return number(token == "true", "Bool")
        if _NUMBER.fullmatch(token):
            if len(token) > 10 or int(token) > LARGEST:
                raise Unreadable(f"a number above {LARGEST}")
            return number(int(token))
        if _DECIMAL.fullmatch(token):
            return number(Fraction(token), "Real")
        for pattern, base, width in ((_BINARY, 2, 1), (_HEXADECIMAL, 16, 4)):
            if (found := pattern.fullmatch(token)) and len(found[1]) * width <= MOST_BITS:
                return number(int(found[1], base), len(found[1]) * width)
        raise Unreadable(f"'{token[:20]}' is neither a variable ({', '.join(self.variables)}) nor a constant")

    def _literal(self, place: int) -> tuple[SmtTerm, int]:
        """`(_ bv5 4)`: the value 5 in 4 bits."""
        value, bits = self._token(place + 2), self._token(place + 3)
        known = _NUMBER.fullmatch(value.removeprefix("bv")) and _NUMBER.fullmatch(bits) and len(value + bits) < 16
        if not value.startswith("bv") or not known or self._token(place + 4) != ")":
            raise Unreadable("behind '(_' only a bit-vector such as (_ bv5 4) is known")
        if not 0 < int(bits) <= MOST_BITS or int(value[2:]) >> int(bits):
            raise Unreadable(f"{value} does not fit into {bits} bits, or these are more than {MOST_BITS}")
        return number(int(value[2:]), int(bits)), place + 5


Rule = Callable[[str, tuple[SmtTerm, ...]], Sort]


def _applied(operator: str, arguments: tuple[SmtTerm, ...]) -> SmtTerm:
    """An operator with arguments of the sorts and in the number that it takes."""
    if operator.startswith("(_"):
        return SmtTerm(operator, _indexed_sort(operator, arguments), arguments)
    if operator not in _RULES:
        raise Unreadable(f"'{operator[:20]}' is no operator that may be used here")
    if operator == "/" or any(one.sort == "Real" for one in arguments):
        arguments = _as_reals(arguments)
    return _folded(SmtTerm(operator, _RULES[operator](operator, arguments), arguments))


def _as_reals(arguments: tuple[SmtTerm, ...]) -> tuple[SmtTerm, ...]:
    """Whole numbers that are written among Reals are Reals: `(< x 3)`."""
    return tuple(
        replace(one, sort="Real", value=Fraction(one.value))
        if one.operator == "value" and one.sort == "Int" and one.value is not None
        else one
        for one in arguments
    )


def _folded(term: SmtTerm) -> SmtTerm:
    """`(- 3)` and `(/ 1 3)` are constants."""
    values = [one.value for one in term.arguments if one.operator == "value" and one.value is not None]
    if len(values) == len(term.arguments):
        if term.operator == "-" and len(values) == 1:
            return number(-values[0], term.sort)
        if term.operator == "/" and len(values) == 2:
            return number(Fraction(values[0]) / Fraction(values[1]), "Real")
    return term


def _wrong(operator: str, takes: str) -> Unreadable:
    return Unreadable(f"'{operator}' takes {takes}")


def _count(operator: str, arguments: tuple[SmtTerm, ...]) -> None:
    least, most = (2, MOST_NODES) if operator in _MANY else (2, 2)
    if operator in ("not", "abs", *BIT_UNARY, *CONVERSIONS):
        least = most = 1
    if operator == "-":
        least, most = 1, MOST_NODES
    if not least <= len(arguments) <= most:
        raise _wrong(operator, f"{least} {'or more ' if most > least else ''}arguments, not {len(arguments)}")


def _arithmetic(operator: str, arguments: tuple[SmtTerm, ...]) -> Sort:
    _count(operator, arguments)
    return _of_numbers(operator, arguments)


def _of_numbers(operator: str, arguments: tuple[SmtTerm, ...]) -> Sort:
    sort = arguments[0].sort
    if sort not in ("Int", "Real") or any(one.sort != sort for one in arguments):
        raise _wrong(operator, "whole numbers, or Reals alone")
    return sort


def _whole(operator: str, arguments: tuple[SmtTerm, ...]) -> Sort:
    _count(operator, arguments)
    if any(one.sort != "Int" for one in arguments):
        raise _wrong(operator, "whole numbers")
    return _never_by_zero(operator, arguments, "Int")


def _quotient(operator: str, arguments: tuple[SmtTerm, ...]) -> Sort:
    _count(operator, arguments)
    return _never_by_zero(operator, arguments, _of_numbers(operator, arguments))


def _never_by_zero(operator: str, arguments: tuple[SmtTerm, ...], sort: Sort) -> Sort:
    if any(one.operator == "value" and not one.value for one in arguments[1:]):
        raise _wrong(operator, "a divisor other than 0")
    return sort


def _conversion(operator: str, arguments: tuple[SmtTerm, ...]) -> Sort:
    _count(operator, arguments)
    takes, gives = CONVERSIONS[operator]
    if arguments[0].sort != takes:
        raise _wrong(operator, f"a term of sort {takes}")
    return gives


def _constant(term: SmtTerm) -> bool:
    return all(one.operator == "value" or one.arguments for one in term)


def _order(operator: str, arguments: tuple[SmtTerm, ...]) -> Sort:
    _count(operator, arguments)
    _of_numbers(operator, arguments)
    return "Bool"


def _logic(operator: str, arguments: tuple[SmtTerm, ...]) -> Sort:
    _count(operator, arguments)
    if any(one.sort != "Bool" for one in arguments):
        raise _wrong(operator, "truth values")
    return "Bool"


def _equal(operator: str, arguments: tuple[SmtTerm, ...]) -> Sort:
    _count(operator, arguments)
    if any(one.sort != arguments[0].sort for one in arguments):
        raise _wrong(operator, "terms of one sort")
    return "Bool"


def _choice(operator: str, arguments: tuple[SmtTerm, ...]) -> Sort:
    if len(arguments) != 3 or arguments[0].sort != "Bool" or arguments[1].sort != arguments[2].sort:
        raise _wrong(operator, "a truth value and two terms of one sort")
    return arguments[1].sort


def _bits(operator: str, arguments: tuple[SmtTerm, ...]) -> Sort:
    _count(operator, arguments)
    sort = arguments[0].sort
    if isinstance(sort, str) or any(one.sort != sort for one in arguments):
        raise _wrong(operator, "bit-vectors of one length")
    return "Bool" if operator in BIT_ORDER else sort


def _concatenated(operator: str, arguments: tuple[SmtTerm, ...]) -> Sort:
    _count(operator, arguments)
    return _short_enough(operator, sum(_length(operator, one) for one in arguments))


def _indexed_sort(operator: str, arguments: tuple[SmtTerm, ...]) -> Sort:
    """The sort of `(_ extract 3 1)` and its kin, applied to a bit-vector that has these bits."""
    if len(arguments) != 1:
        raise _wrong(operator, "one bit-vector")
    bits = _length(operator, arguments[0])
    name, numbers = indices(operator)
    if name != "extract":
        return _short_enough(operator, bits + numbers[0])
    if not numbers[1] <= numbers[0] < bits:
        raise _wrong(operator, f"a bit-vector that has these bits, not one of {bits}")
    return numbers[0] - numbers[1] + 1


def indices(operator: str) -> tuple[str, list[int]]:
    """The name and the numbers of an operator: `indices("(_ extract 3 1)")` is `("extract", [3, 1])`."""
    _, name, *numbers = operator.strip("()").split()
    return name, list(map(int, numbers))


def _length(operator: str, term: SmtTerm) -> int:
    if isinstance(term.sort, str):
        raise _wrong(operator, "bit-vectors")
    return term.sort


def _short_enough(operator: str, bits: int) -> int:
    if bits > MOST_BITS:
        raise Unreadable(f"'{operator}' makes more than {MOST_BITS} bits")
    return bits


_RULES: dict[str, Rule] = {
    **dict.fromkeys(ARITHMETIC, _arithmetic),
    **dict.fromkeys(WHOLE, _whole),
    "/": _quotient,
    **dict.fromkeys(CONVERSIONS, _conversion),
    **dict.fromkeys(ORDER, _order),
    **dict.fromkeys(LOGIC, _logic),
    **dict.fromkeys(("=", "distinct"), _equal),
    "ite": _choice,
    **dict.fromkeys((*BITS, *BIT_UNARY, *BIT_ORDER), _bits),
    "concat": _concatenated,
}
