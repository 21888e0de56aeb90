"""Terms of SMT-LIB over whole numbers, truth values and bit-vectors: a part of the language, read by a grammar of ours.

A text is one term. It has no commands, quantifiers, definitions or bindings: a name is a variable that the problem
declares, and an operator is one of the tables below. A solver never sees a text: it gets the term that was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

LONGEST = 2_000  # characters of a text
MOST_NODES, DEEPEST = 200, 30
MOST_BITS = 32
LARGEST = 10**9  # of a whole number that is written down

Sort = str | int
"""`"Int"`, `"Bool"`, or the number of bits of a bit-vector."""
Variables = Mapping[str, Sort]


class Unreadable(ValueError):
    """The text is no term of the problem; the message says why."""


@dataclass(frozen=True)
class Term:
    """A term of a sort: an operator with its arguments, a variable, or a constant.

    Example:
        read("(< (+ a 1) b)", {"a": "Int", "b": "Int"})
        # Term("<", "Bool", (Term("+", "Int", (...)), Term("b", "Int")))
    """

    operator: str  # of a variable its name; of a constant "value"
    sort: Sort
    arguments: tuple[Term, ...] = ()
    value: int | None = None  # of a constant; 0 or 1 of a truth value

    def __iter__(self) -> Iterator[Term]:
        """The term and all that it is made of."""
        yield self
        for argument in self.arguments:
            yield from argument


ARITHMETIC = ("+", "-", "*", "div", "mod", "abs")
ORDER = ("<", "<=", ">", ">=")
LOGIC = ("not", "and", "or", "xor", "=>")
BITS = ("bvadd", "bvsub", "bvmul", "bvand", "bvor", "bvxor", "bvshl", "bvlshr", "bvashr", "bvudiv", "bvurem")
BIT_UNARY = ("bvnot", "bvneg")
BIT_ORDER = ("bvult", "bvule", "bvugt", "bvuge", "bvslt", "bvsle", "bvsgt", "bvsge")
_MANY = (
    "+",
    "*",
    "and",
    "or",
    "xor",
    "bvadd",
    "bvmul",
    "bvand",
    "bvor",
    "bvxor",
)  # any number of arguments from two on

_TOKEN = re.compile(r"[()]|[^\s()]+")
_NUMBER = re.compile(r"0|[1-9][0-9]*")
_BINARY, _HEXADECIMAL = re.compile(r"#b([01]+)"), re.compile(r"#x([0-9a-fA-F]+)")


def read(text: str, variables: Variables, sort: Sort = "Bool") -> Term:
    """The term of this sort that a text states. Raises Unreadable for anything else."""
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
    if term.sort != sort:
        raise Unreadable(f"a term of sort {named(term.sort)}, not {named(sort)}")
    return term


def named(sort: Sort) -> str:
    """A sort as SMT-LIB writes it."""
    return sort if isinstance(sort, str) else f"(_ BitVec {sort})"


def write(term: Term) -> str:
    """The text of a term: `read(write(term), ...)` is the term again."""
    if term.operator == "value":
        assert term.value is not None
        if term.sort == "Bool":
            return "true" if term.value else "false"
        if term.sort == "Int":
            return str(term.value) if term.value >= 0 else f"(- {-term.value})"
        return f"(_ bv{term.value} {term.sort})"  # and not #b0101: in compact wording a # begins the answer
    if not term.arguments:
        return term.operator
    return f"({term.operator} {' '.join(map(write, term.arguments))})"


def number(value: int, sort: Sort = "Int") -> Term:
    """A constant of a sort; of a bit-vector modulo its range."""
    return Term("value", sort, value=value if isinstance(sort, str) else value % (1 << sort))


def plain(term: Term) -> list[object]:
    """The term as lists of texts and numbers, as a job of an external has it."""
    if term.operator == "value":
        return ["value", term.sort, term.value]
    if not term.arguments:
        return ["variable", term.sort, term.operator]
    return [term.operator, *map(plain, term.arguments)]


def substituted(term: Term, values: Mapping[str, Term]) -> Term:
    """The term with terms in the places of variables, all at once."""
    if not term.arguments:
        return values.get(term.operator, term) if term.operator != "value" else term
    return Term(term.operator, term.sort, tuple(substituted(one, values) for one in term.arguments))


def negated(term: Term) -> Term:
    return Term("not", "Bool", (term,))


def both(first: Term, *rest: Term) -> Term:
    return Term("and", "Bool", (first, *rest)) if rest else first


def differ(one: Term, other: Term) -> Term:
    return negated(Term("=", "Bool", (one, other)))


class _Reader:
    def __init__(self, tokens: Sequence[str], variables: Variables) -> None:
        self.tokens, self.variables, self.nodes = tokens, variables, 0

    def term(self, place: int, depth: int) -> tuple[Term, int]:
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
        arguments, place = [], place + 2
        while self._token(place) != ")":
            argument, place = self.term(place, depth + 1)
            arguments.append(argument)
        return _applied(operator, tuple(arguments)), place + 1

    def _token(self, place: int) -> str:
        if place >= len(self.tokens):
            raise Unreadable("the text ends within the term")
        return self.tokens[place]

    def _atom(self, token: str) -> Term:
        if token in self.variables:
            return Term(token, self.variables[token])
        if token in ("true", "false"):
            return number(token == "true", "Bool")
        if _NUMBER.fullmatch(token):
            if len(token) > 10 or int(token) > LARGEST:
                raise Unreadable(f"a number above {LARGEST}")
            return number(int(token))
        for pattern, base, width in ((_BINARY, 2, 1), (_HEXADECIMAL, 16, 4)):
            if (found := pattern.fullmatch(token)) and len(found[1]) * width <= MOST_BITS:
                return number(int(found[1], base), len(found[1]) * width)
        raise Unreadable(f"'{token[:20]}' is neither a variable ({', '.join(self.variables)}) nor a constant")

    def _literal(self, place: int) -> tuple[Term, int]:
        """`(_ bv5 4)`: the value 5 in 4 bits."""
        value, bits = self._token(place + 2), self._token(place + 3)
        known = _NUMBER.fullmatch(value.removeprefix("bv")) and _NUMBER.fullmatch(bits) and len(value + bits) < 16
        if not value.startswith("bv") or not known or self._token(place + 4) != ")":
            raise Unreadable("behind '(_' only a bit-vector such as (_ bv5 4) is known")
        if not 0 < int(bits) <= MOST_BITS or int(value[2:]) >> int(bits):
            raise Unreadable(f"{value} does not fit into {bits} bits, or these are more than {MOST_BITS}")
        return number(int(value[2:]), int(bits)), place + 5


Rule = Callable[[str, tuple[Term, ...]], Sort]


def _applied(operator: str, arguments: tuple[Term, ...]) -> Term:
    """An operator with arguments of the sorts and in the number that it takes."""
    if operator not in _RULES:
        raise Unreadable(f"'{operator[:20]}' is no operator that may be used here")
    sort = _RULES[operator](operator, arguments)
    if operator == "-" and len(arguments) == 1 and arguments[0].operator == "value":
        assert arguments[0].value is not None
        return number(-arguments[0].value)
    return Term(operator, sort, arguments)


def _wrong(operator: str, takes: str) -> Unreadable:
    return Unreadable(f"'{operator}' takes {takes}")


def _count(operator: str, arguments: tuple[Term, ...]) -> None:
    least, most = (2, MOST_NODES) if operator in _MANY else (2, 2)
    if operator in ("not", "abs", *BIT_UNARY):
        least = most = 1
    if operator == "-":
        least, most = 1, MOST_NODES
    if not least <= len(arguments) <= most:
        raise _wrong(operator, f"{least} {'or more ' if most > least else ''}arguments, not {len(arguments)}")


def _arithmetic(operator: str, arguments: tuple[Term, ...]) -> Sort:
    _count(operator, arguments)
    if any(one.sort != "Int" for one in arguments):
        raise _wrong(operator, "whole numbers")
    if operator == "*" and sum(not _constant(one) for one in arguments) > 1:
        raise _wrong(operator, "one factor with variables: products of variables cannot be decided")
    if operator in ("div", "mod") and (arguments[1].operator != "value" or not arguments[1].value):
        raise _wrong(operator, "a number other than 0 as divisor")
    return "Int"


def _constant(term: Term) -> bool:
    return all(one.operator == "value" or one.arguments for one in term)


def _order(operator: str, arguments: tuple[Term, ...]) -> Sort:
    _count(operator, arguments)
    if any(one.sort != "Int" for one in arguments):
        raise _wrong(operator, "whole numbers")
    return "Bool"


def _logic(operator: str, arguments: tuple[Term, ...]) -> Sort:
    _count(operator, arguments)
    if any(one.sort != "Bool" for one in arguments):
        raise _wrong(operator, "truth values")
    return "Bool"


def _equal(operator: str, arguments: tuple[Term, ...]) -> Sort:
    _count(operator, arguments)
    if arguments[0].sort != arguments[1].sort:
        raise _wrong(operator, "two terms of one sort")
    return "Bool"


def _choice(operator: str, arguments: tuple[Term, ...]) -> Sort:
    if len(arguments) != 3 or arguments[0].sort != "Bool" or arguments[1].sort != arguments[2].sort:
        raise _wrong(operator, "a truth value and two terms of one sort")
    return arguments[1].sort


def _bits(operator: str, arguments: tuple[Term, ...]) -> Sort:
    _count(operator, arguments)
    sort = arguments[0].sort
    if isinstance(sort, str) or any(one.sort != sort for one in arguments):
        raise _wrong(operator, "bit-vectors of one length")
    return "Bool" if operator in BIT_ORDER else sort


_RULES: dict[str, Rule] = {
    **dict.fromkeys(ARITHMETIC, _arithmetic),
    **dict.fromkeys(ORDER, _order),
    **dict.fromkeys(LOGIC, _logic),
    **dict.fromkeys(("=", "distinct"), _equal),
    "ite": _choice,
    **dict.fromkeys((*BITS, *BIT_UNARY, *BIT_ORDER), _bits),
}
