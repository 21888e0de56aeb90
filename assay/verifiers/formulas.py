"""Formulas in x with constants c0, c1, ...: read into rows of simple steps, which another process can carry out.

Nothing is evaluated here, and no text ever reaches Python's own parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable

MOST_CHARACTERS = 200
MOST_STEPS = 60
MOST_CONSTANTS = 3
DEEPEST = 25
FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt", "abs")
Step = str | float
"""A number, `x`, a constant `c0`, or an operator or function that takes its arguments from the steps before it."""

_TOKEN = re.compile(r"\s*(?:(\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})|([a-z]+\d*)|(\*\*|[-+*/^()]))")
_CONSTANT = re.compile(r"c\d")


class NoFormula(ValueError):
    """The text is no formula: what is wrong with it."""


def steps_of(text: str) -> tuple[Step, ...]:
    """The steps of a formula, arguments first: `steps_of("c0*x+1")` is ("c0", "x", "*", 1.0, "+"). Raises NoFormula."""
    if len(text) > MOST_CHARACTERS:
        raise NoFormula(f"longer than {MOST_CHARACTERS} characters")
    reader = _Reader(_tokens(text))
    reader.expression(0)
    if reader.tokens:
        raise NoFormula(f"'{reader.tokens[0]}' stands where the formula could end")
    if len(reader.steps) > MOST_STEPS:
        raise NoFormula(f"more than {MOST_STEPS} steps")
    return tuple(reader.steps)


def constants_of(steps: tuple[Step, ...]) -> tuple[str, ...]:
    """The constants of a formula, in the order of their names. Raises NoFormula if there are too many."""
    names = tuple(sorted({step for step in steps if isinstance(step, str) and _CONSTANT.fullmatch(step)}))
    if len(names) > MOST_CONSTANTS:
        raise NoFormula(f"more than {MOST_CONSTANTS} constants")
    return names


def _tokens(text: str) -> list[str]:
    tokens, place = [], 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise NoFormula(f"U+{ord(text[place]):04X} stands in no formula")
        tokens.append(match[0].strip().replace("**", "^"))
        place = match.end()
    return tokens


class _Reader:
    """Reads tokens from the left, and writes each operator behind its arguments."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.steps: list[Step] = []

    def expression(self, depth: int) -> None:
        if depth > DEEPEST:
            raise NoFormula(f"nested more than {DEEPEST} deep")
        self._row(("+", "-"), lambda: self._row(("*", "/"), lambda: self._signed(depth)))

    def _row(self, operators: tuple[str, ...], operand: Callable[[], None]) -> None:
        operand()
        while self.tokens and self.tokens[0] in operators:
            operator = self.tokens.pop(0)
            operand()
            self.steps.append(operator)

    def _signed(self, depth: int) -> None:
        if depth > DEEPEST:
            raise NoFormula(f"nested more than {DEEPEST} deep")
        if self.tokens[:1] == ["-"]:
            self.tokens.pop(0)
            self._signed(depth + 1)
            self.steps.append("neg")
            return
        self._atom(depth)
        if self.tokens[:1] == ["^"]:
            self.tokens.pop(0)
            self._signed(depth + 1)
            self.steps.append("^")

    def _atom(self, depth: int) -> None:
        if not self.tokens:
            raise NoFormula("the formula ends too early")
        token = self.tokens.pop(0)
        if token == "x" or _CONSTANT.fullmatch(token):
            self.steps.append(token)
        elif token[0].isdigit() or token[0] == ".":
            self.steps.append(float(token))
        elif token == "(" or token in FUNCTIONS:
            self._bracketed(token, depth)
        else:
            raise NoFormula(f"'{token}' is no number, variable, constant or function")

    def _bracketed(self, token: str, depth: int) -> None:
        if token != "(" and self.tokens[:1] != ["("]:
            raise NoFormula(f"'{token}' is followed by '('")
        if token != "(":
            self.tokens.pop(0)
        self.expression(depth + 1)
        if self.tokens[:1] != [")"]:
            raise NoFormula("a ')' is missing")
        self.tokens.pop(0)
        if token != "(":
            self.steps.append(token)
