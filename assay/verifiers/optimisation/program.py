"""A linear or integer program: reading the text of one, and writing it for a solver.

The text is CPLEX LP format in the part of it that linear programs need. Statements end with a line or with `;`, so that
a program also fits on one line: `max 3a+2b; a+b<=4; int a b`. A solver never reads the text of a model: it reads what
`write` makes of the program that was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

LONGEST = 8_000  # characters of a text
MOST_VARIABLES, MOST_ROWS = 32, 64
Comparison = Literal["<=", ">=", "="]
Linear = Mapping[str, Fraction]


class Unreadable(ValueError):
    """The text is no linear program; the message says where."""


@dataclass(frozen=True)
class Constraint:
    """A constraint: `Constraint({"a": Fraction(1), "b": Fraction(1)}, "<=", Fraction(4))` is a + b <= 4."""

    terms: Linear
    comparison: Comparison
    bound: Fraction

    @property
    def size(self) -> Fraction:
        """Its largest coefficient, at most 1: by this much a row in tiny units understates what is missing."""
        return min(Fraction(1), max(map(abs, self.terms.values()))) or Fraction(1)


@dataclass(frozen=True)
class Program:
    """A program: the objective to maximise or minimise, the rows that must hold, and the range of each variable.

    program = read("max 3a+2b; a+b<=4; int a b")
    program.maximises, program.objective["a"], program.rows[0].bound  # (True, Fraction(3), Fraction(4))
    """

    maximises: bool
    objective: Linear
    constant: Fraction = Fraction(0)
    rows: tuple[Constraint, ...] = ()
    lower: Mapping[str, Fraction | None] = field(default_factory=dict)  # None: none; not named: 0
    upper: Mapping[str, Fraction | None] = field(default_factory=dict)  # None or not named: none
    integers: frozenset[str] = frozenset()

    @property
    def variables(self) -> tuple[str, ...]:
        named = {
            *self.objective,
            *self.lower,
            *self.upper,
            *self.integers,
            *(n for row in self.rows for n in row.terms),
        }
        return tuple(sorted(named))

    def range_of(self, name: str) -> tuple[Fraction | None, Fraction | None]:
        return self.lower.get(name, Fraction(0)), self.upper.get(name)

    @property
    def binaries(self) -> frozenset[str]:
        return frozenset(name for name in self.integers if self.range_of(name) == (0, 1))


_SECTIONS = {
    "max": ("maximize", "maximise", "maximum", "max"),
    "min": ("minimize", "minimise", "minimum", "min"),
    "st": ("subject to", "such that", "s.t.", "st.", "st"),
    "bounds": ("bounds", "bound"),
    "int": ("generals", "general", "gen", "integers", "integer", "int"),
    "bin": ("binaries", "binary", "bin"),
    "end": ("end",),
}
_WORDS = "|".join(f"(?P<{name}>{'|'.join(map(re.escape, words))})" for name, words in _SECTIONS.items())
_KEYWORD = re.compile(rf"(?:{_WORDS})(?![A-Za-z0-9_.])", re.IGNORECASE)
_RESERVED = {word for words in _SECTIONS.values() for word in words} | {"inf", "infinity", "free"}
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}\s*:")
_COMPARISON = re.compile(r"<=|=<|>=|=>|<|>|=")
_TERM = re.compile(
    r"\s*(?P<sign>[+-])?\s*(?:(?P<number>[0-9]{1,9}(?:\.[0-9]{1,6})?|\.[0-9]{1,6})(?![0-9.]|[eE][-+]?[0-9]))?\s*"
    r"(?P<times>\*)?\s*(?P<name>[A-Za-z_][A-Za-z0-9_]{0,15}(?![A-Za-z0-9_]))?"
)
_INFINITE = re.compile(r"(?P<sign>[+-])?\s*inf(?:inity)?", re.IGNORECASE)
_FREE = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,15})\s+free", re.IGNORECASE)
_ENDS_FREE = re.compile(r"[A-Za-z0-9_]\s+free$", re.IGNORECASE)
_NAMES = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,15}(?:[\s,]+[A-Za-z_][A-Za-z0-9_]{0,15})*")


def read(text: str) -> Program:
    """The program that a text states. Raises Unreadable for anything else."""
    if len(text) > LONGEST:
        raise Unreadable(f"longer than {LONGEST} characters")
    if not text.isascii() or "\0" in text:
        raise Unreadable("a character that no program has")
    draft = _Draft()
    section = ""
    for statement in _statements(text):
        word = _KEYWORD.match(statement)
        while word is not None:
            section = draft.enter(word.lastgroup or "")
            statement = statement[word.end() :].strip()
            word = _KEYWORD.match(statement) if statement else None
        if statement:
            section = draft.take(section, statement)
    return draft.program()


def _statements(text: str) -> list[str]:
    """The statements of a text. A statement that ends with a line, and not with `;`, may go on in the next line."""
    statements: list[str] = []
    for piece in text.split(";"):
        goes_on = False
        for line in piece.split("\n"):
            line = line.split("\\")[0].strip()  # a comment
            if not line:
                continue
            if goes_on and (line[0] in "<>=*" or _open(statements[-1], line)):
                statements[-1] += " " + line
            else:
                statements.append(line)
            goes_on = True
    return statements


def _open(statement: str, line: str) -> bool:
    """Whether a statement goes on in this line: it ends in an operator, or the line adds to an expression.

    A comparison, a word that begins a section and `a free` are whole: a line with a sign behind one stands alone.
    """
    whole = _COMPARISON.search(statement) or _KEYWORD.fullmatch(statement) or _ENDS_FREE.search(statement)
    return statement[-1] in "+-<>=*:" or (line[0] in "+-" and not whole)


@dataclass
class _Draft:
    sense: str = ""
    objective: tuple[Linear, Fraction] | None = None
    rows: list[Constraint] = field(default_factory=list)
    lower: dict[str, Fraction | None] = field(default_factory=dict)
    upper: dict[str, Fraction | None] = field(default_factory=dict)
    integers: set[str] = field(default_factory=set)
    ended: bool = False

    def enter(self, section: str) -> str:
        if self.ended:
            raise Unreadable("something behind 'end'")
        if section in ("max", "min"):
            if self.sense:
                raise Unreadable("two objectives")
            self.sense = section
        elif not self.sense:
            raise Unreadable(f"'{section}' before the objective")
        self.ended = section == "end"
        return section

    def take(self, section: str, statement: str) -> str:
        """Reads a statement of a section; returns the section that the next one belongs to."""
        if section in ("", "end"):
            raise Unreadable("no objective before the rows" if not section else "something behind 'end'")
        if section in ("max", "min"):
            self.objective = _linear(_unlabelled(statement))
            return "st"
        if section == "st":
            self.rows += _rows(_unlabelled(statement))
            if len(self.rows) > MOST_ROWS:
                raise Unreadable(f"more than {MOST_ROWS} rows")
        elif section == "bounds":
            self.bound(statement)
        else:
            self.declare(section, statement)
        return section

    def bound(self, statement: str) -> None:
        """All bounds of a variable hold, so that their order says nothing; `free` lifts the 0 that none need state."""
        if free := _FREE.fullmatch(statement):
            self.lower.setdefault(free[1], None)
            self.upper.setdefault(free[1], None)
            return
        pieces, signs = _compared(statement)
        places = [i for i, piece in enumerate(pieces) if not _number(piece)]
        if len(places) != 1 or (name := _name(pieces[places[0]])) is None:
            raise Unreadable(f"no bound of one variable: {statement[:40]}")
        for i, sign in enumerate(signs):
            above = (sign == "<=") == (i >= places[0])  # whether the number bounds the variable from above
            value = _bound_value(pieces[i + 1] if i >= places[0] else pieces[i])
            if sign == "=" or above:
                _narrow(self.upper, name, value, min)
            if sign == "=" or not above:
                _narrow(self.lower, name, value, max)

    def declare(self, section: str, statement: str) -> None:
        if _NAMES.fullmatch(statement) is None:
            raise Unreadable(f"no names of variables: {statement[:40]}")
        names = re.split(r"[\s,]+", statement)
        self.integers.update(names)
        if section == "bin":
            for name in names:
                _narrow(self.lower, name, Fraction(0), max)
                _narrow(self.upper, name, Fraction(1), min)

    def program(self) -> Program:
        if self.objective is None:
            raise Unreadable("no objective")
        terms, constant = self.objective
        found = Program(
            self.sense == "max", terms, constant, tuple(self.rows), self.lower, self.upper, frozenset(self.integers)
        )
        if not 0 < len(found.variables) <= MOST_VARIABLES:
            raise Unreadable(f"no variable, or more than {MOST_VARIABLES}")
        if taken := [name for name in found.variables if name.lower() in _RESERVED]:
            raise Unreadable(f"'{taken[0]}' is a word of the format and cannot be a variable")
        return found


def _narrow(
    limits: dict[str, Fraction | None],
    name: str,
    value: Fraction | None,
    tighter: Callable[[Fraction, Fraction], Fraction],
) -> None:
    """Adds a bound on a side of a variable. None is an infinite bound: it leaves a stated bound as it is."""
    stated = limits.get(name)
    limits[name] = value if stated is None else stated if value is None else tighter(stated, value)


def _unlabelled(statement: str) -> str:
    label = _LABEL.match(statement)
    return statement[label.end() :] if label else statement


def _compared(statement: str) -> tuple[list[str], list[Comparison]]:
    """The sides of a statement with one comparison, or with two in one direction."""
    written = {"=<": "<=", "<": "<=", "=>": ">=", ">": ">="}
    signs: list[Comparison] = [written.get(sign, sign) for sign in _COMPARISON.findall(statement)]  # pyright: ignore
    if not 0 < len(signs) <= 2 or (len(signs) == 2 and (signs[0] != signs[1] or signs[0] == "=")):
        raise Unreadable(f"not one comparison: {statement[:40]}")
    return [side.strip() for side in _COMPARISON.split(statement)], signs


def _rows(statement: str) -> list[Constraint]:
    sides, signs = _compared(statement)
    linear = [_linear(side) for side in sides]
    rows = []
    for (left, plus), (right, bound), sign in zip(linear, linear[1:], signs):
        terms = dict(left)
        for name, number in right.items():
            terms[name] = terms.get(name, Fraction(0)) - number
        if not terms:
            raise Unreadable(f"a row without variables: {statement[:40]}")
        rows.append(Constraint(terms, sign, bound - plus))
    return rows


def _linear(text: str) -> tuple[Linear, Fraction]:
    """The coefficient of each variable, and the constant."""
    terms: dict[str, Fraction] = {}
    constant, position, text = Fraction(0), 0, text.rstrip()
    while position < len(text):
        term = _TERM.match(text, position)
        assert term is not None  # it matches the empty text
        number, name = term["number"], term["name"]
        joined = position > 0 and term["sign"] is None
        if (number is None and name is None) or joined or (term["times"] and not (number and name)):
            raise Unreadable(f"no linear expression: {text[:40]}")
        value = Fraction(number or 1) * (-1 if term["sign"] == "-" else 1)
        if name is None:
            constant += value
        else:
            terms[name] = terms.get(name, Fraction(0)) + value
        position = term.end()
    if not text:
        raise Unreadable("an empty expression")
    return terms, constant


def _number(text: str) -> bool:
    return _INFINITE.fullmatch(text) is not None or re.fullmatch(r"[+-]?\s*(?:[0-9.]+)", text) is not None


def _name(text: str) -> str | None:
    return text if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,15}", text) else None


def _bound_value(text: str) -> Fraction | None:
    if _INFINITE.fullmatch(text):
        return None
    terms, value = _linear(text)
    if terms:
        raise Unreadable(f"no number: {text[:40]}")
    return value


def boxed(program: Program, half: int) -> Program:
    """The program with each variable also between -half and half, so that every objective has an optimum."""
    lower, upper = {}, {}
    for name in program.variables:
        low, high = program.range_of(name)
        lower[name] = Fraction(-half) if low is None else max(low, Fraction(-half))
        upper[name] = Fraction(half) if high is None else min(high, Fraction(half))
    return replace(program, lower=lower, upper=upper)


def towards(program: Program, objective: Linear) -> Program:
    """The program with another objective, which is maximised."""
    return replace(program, maximises=True, objective=objective, constant=Fraction(0))


def shown(program: Program) -> str:
    """The program on one line, in a form that `read` reads: equal programs are written alike."""
    parts = [f"{'max' if program.maximises else 'min'} {_plain(program.objective, program.constant)}"]
    parts += [f"{_plain(row.terms)} {row.comparison} {_decimal(row.bound)}" for row in program.rows]
    bounds = [_bounds(name, *program.range_of(name)) for name in program.variables]
    parts += ["bounds", *filter(None, bounds)] if any(bounds) else []
    parts += ["int", " ".join(sorted(program.integers))] if program.integers else []
    return "; ".join(parts)


def _bounds(name: str, low: Fraction | None, high: Fraction | None) -> str:
    if (low, high) == (0, None):
        return ""
    left = "-inf" if low is None else _decimal(low)
    return f"{left} <= {name} <= {'inf' if high is None else _decimal(high)}"


def _plain(terms: Linear, constant: Fraction = Fraction(0)) -> str:
    parts = [f"{'-' if value < 0 else '+'} {_decimal(abs(value))} {name}" for name, value in sorted(terms.items())]
    parts += [f"{'-' if constant < 0 else '+'} {_decimal(abs(constant))}"] if constant or not parts else []
    return " ".join(parts).removeprefix("+ ")


def _decimal(value: Fraction) -> str:
    """A decimal of at most six places, exactly; sums of decimals are decimals."""
    whole, rest = divmod(abs(value), 1)
    digits = str(rest * 10**6).rjust(6, "0").rstrip("0")
    return f"{'-' if value < 0 else ''}{whole}{'.' if digits else ''}{digits}"


def write(program: Program) -> str:
    """The program as LP text for a solver. Variables are called x0, x1, ... in the order of their names."""
    called = {name: f"x{i}" for i, name in enumerate(program.variables)}
    whole = {name: program.objective.get(name, Fraction(0)) for name in program.variables}
    lines = ["max" if program.maximises else "min", f" o: {_written(whole, called)}", "st"]
    for i, row in enumerate(program.rows):
        terms = {name: value / row.size for name, value in row.terms.items()}
        lines.append(f" r{i}: {_written(terms, called)} {row.comparison} {float(row.bound / row.size)!r}")
    lines.append("bounds")
    for name, short in called.items():
        low, high = program.range_of(name)
        left = "-inf" if low is None else repr(float(low))
        lines.append(f" {left} <= {short} <= {'+inf' if high is None else repr(float(high))}")
    if program.integers:
        lines += ["general", f" {' '.join(called[name] for name in sorted(program.integers))}"]
    return "\n".join([*lines, "end", ""])


def _written(terms: Linear, called: Mapping[str, str]) -> str:
    return " ".join(
        f"{'-' if value < 0 else '+'} {float(abs(value))!r} {called[name]}" for name, value in terms.items()
    )
