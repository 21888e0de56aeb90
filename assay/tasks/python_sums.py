"""Steps of plain Python worked out by reading them, without Python: assignments of sums, products and remainders.

This is the second opinion on what the sandbox finds. It understands less, and says so.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LARGEST = 1 << 64  # in size
_STEP = re.compile(r"([a-z][a-z_]*) *=(?!=)([^#=]*)(?:#.*)?")
_TOKEN = re.compile(r" *([0-9]+|[a-z][a-z_]*|//|[-+*%()])")
_PADDED = re.compile(r"0+[1-9]")  # a number that begins with 0 is none in Python


class Unread(Exception):
    """A step says more than is understood here."""


_LEVELS = (("+", "-"), ("*", "//", "%"))


def held(steps: Sequence[str]) -> dict[str, int]:
    """The value of each name behind these steps; steps that fail leave all as it was. `Unread` where a step is
    anything but an assignment of a sum, a product or a remainder.
    """
    values: dict[str, int] = {}
    for step in steps:
        match = _STEP.fullmatch(step)
        if match is None or not (step.isascii() and step.isprintable()):
            raise Unread(step[:40])
        value = _Sum(_tokens(match[2]), values).whole()
        if value is None:
            continue
        if abs(value) >= LARGEST or keyword.iskeyword(match[1]):
            raise Unread(step[:40])
        values[match[1]] = value
    return values


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    text = text.rstrip(" ")
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or _PADDED.match(match[1]):
            raise Unread(text[:40])
        found.append(match[1])
        at = match.end()
    return found


@dataclass
class _Sum:
    """A sum that is being read from the left. It is read to its end also where it fails, because what follows may be
    more than is understood here.
    """

    tokens: list[str]
    known: Mapping[str, int]
    at: int = 0
    fails: bool = False  # by a name that nothing stands for, or a division by 0

    def whole(self) -> int | None:
        """Its value; None if it fails."""
        value = self._level(0)
        if self.at < len(self.tokens):
            raise self._unread()
        return None if self.fails else value

    def _level(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._single()
        value = self._level(level + 1)
        while self.at < len(self.tokens) and self.tokens[self.at] in _LEVELS[level]:
            self.at += 1
            value = self._joined(value, self.tokens[self.at - 1], self._level(level + 1))
        return value

    def _joined(self, a: int, operator: str, b: int) -> int:
        if operator in ("//", "%"):
            self.fails |= b == 0
            quotient = _quotient(a, b or 1)
            return quotient if operator == "//" else a - (b or 1) * quotient
        return a + b if operator == "+" else a - b if operator == "-" else a * b

    def _single(self) -> int:
        token = self.tokens[self.at] if self.at < len(self.tokens) else ""
        self.at += 1
        if token == "-":
            return -self._single()
        if token == "(":
            value = self._level(0)
            if self.tokens[self.at : self.at + 1] != [")"]:
                raise self._unread()
            self.at += 1
            return value
        if token.isdigit():
            return int(token)
        if token in self.known:
            return self.known[token]
        if not token.isidentifier() or keyword.iskeyword(token) or hasattr(builtins, token):
            raise self._unread()
        self.fails = True
        return 1

    def _unread(self) -> Unread:
        return Unread(" ".join(self.tokens)[:40])


def _quotient(a: int, b: int) -> int:
    """The largest whole number that is not above a / b."""
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size - (size * abs(b) != abs(a))
