"""Reads an answer into a typed value: a number or expression, a list, set, tuple or interval, a matrix, a relation, a
choice, or words.

An answer is split, outside all brackets, at the marks that bind least (`structure`). Its parts stay texts, and are
read when they are compared. A gold is trusted more than an answer: any words behind its number are taken for its unit.
This module does not decide whether two answers are equal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from assay.verifiers.mathematics import words
from assay.verifiers.mathematics.expressions import plain_number
from assay.verifiers.mathematics.families import Family, family
from assay.verifiers.mathematics.matrices import rows_of, worked_out
from assay.verifiers.mathematics.names import is_name
from assay.verifiers.mathematics.quantities import Quantity, quantity
from assay.verifiers.mathematics.structure import bare, enclosed, encloses, listed, several, split
from assay.verifiers.mathematics.words import in_words

MOST_SIGNS = 3  # how many `\\pm` an expression may have


@dataclass(frozen=True)
class Words:
    """An answer in words."""

    text: str  # in one spelling


@dataclass(frozen=True)
class Choice:
    """A multiple-choice letter, and the text behind it: `\\textbf{(C)}\\ 12`."""

    letter: str
    said: str  # the text behind the letter


@dataclass(frozen=True)
class Value:
    """A number or an expression, perhaps with a unit."""

    quantity: Quantity


@dataclass(frozen=True)
class Based:
    """A number written in a base: `101_2`."""

    digits: str
    base: int


@dataclass(frozen=True)
class Several:
    """Several values: a list, a set, a tuple, an interval, a union of sets, a ratio."""

    kind: str  # list, set, pair (two parts in brackets: an interval or a tuple), tuple, union, difference, ratio
    parts: tuple[str, ...]
    brackets: str = ""
    joined: str = ","  # the mark or word between the parts of a list: a comma, "and", "or"

    @property
    def ordered(self) -> bool:
        return self.kind in ("pair", "tuple", "difference", "ratio")


@dataclass(frozen=True)
class Grid:
    """A matrix, or another table of entries."""

    kind: str  # matrix, determinant, norm, cases
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Relation:
    """A chain of relations, such as `a < b = c`. It has one sign fewer than sides."""

    sides: tuple[str, ...]
    signs: tuple[str, ...]

    @property
    def equation(self) -> bool:
        return set(self.signs) == {"="}

    @property
    def inequality(self) -> bool:
        return set(self.signs) <= {"<", ">", r"\leq", r"\geq"}


@dataclass(frozen=True)
class Opaque:
    """Mathematics that our grammar does not have: an integral, a sum, a limit."""


_REALS = Several("pair", (r"-\infty", r"\infty"), "()")
Reading = Words | Choice | Value | Based | Several | Grid | Relation | Family | Opaque


@lru_cache(maxsize=4096)
def read(text: str, *, trusted: bool = False) -> Reading:
    """The typed value of a text, which must be cleaned (`writing.clean`) and have balanced braces.

    read(r"\\{1, 2\\}")  # Several("set", ("1", "2"), "{}")
    """
    text = bare(text)
    if (chosen := _choice(text)) is not None:
        return chosen
    if re.fullmatch(r"\].*[\[\]]|[\[(].*\[", text):  # ]1, 2] is another way to write (1, 2]
        text = {"]": "("}.get(text[0], text[0]) + text[1:-1] + {"[": ")"}.get(text[-1], text[-1])
    number = plain_number(text) is not None or in_words(text) is not None
    if not number and (phrase := words.plain(text)) is not None:
        return _REALS if phrase in ("all real numbers", "all reals", "real numbers") else Words(phrase)
    if not number and (structure := _structure(text)) is not None:
        return structure
    if based := re.fullmatch(
        r"\(?\s*([0-9A-F]{1,400})\s*\)?\s*_\s*(?:\{\s*(?:\\text\s*\{\s*)?([a-z]+|\d+)[\s}]*|(\d))", text
    ):
        base = in_words(based[2] or "") if (based[2] or "").isalpha() else int((based[2] or based[3])[:6])
        if base and any(char.isdigit() for char in based[1]):
            return Based(based[1].lstrip("0") or "0", base)
    if (value := quantity(text, trusted=trusted)) is not None:
        return Value(value)
    if r"\text" in text or re.search(r"(?<![\\a-zA-Z])[a-zA-Z]{3}", re.sub(r"\\[a-zA-Z]+", " ", text)):
        return Words(words.spelled(text))
    return Opaque()


def _structure(text: str) -> Reading | None:
    """The value of a text that has parts: a list, a relation, a set, a matrix and so on. None if it has none."""
    for step in (_told, _ranged, _signs, _listed, _relation, _grid, _calculated, _sets, _bracketed, _ratio):
        if (found := step(text)) is not None:
            return found
    return None


# --- words --------------------------------------------------------------------------------------------------


def _choice(text: str) -> Choice | None:
    found = words.choice(text)
    return Choice(*found) if found else None


def _told(text: str) -> Reading | None:
    """The value that a sentence such as `The answer is 3` states."""
    said = words.told(text)
    return read(said) if said else None


# --- lists and signs ----------------------------------------------------------------------------------------


def _ranged(text: str) -> Reading | None:
    """An expression together with the range of a letter in it: `k\\pi, k \\in \\mathbb{Z}`."""
    return family(text)


def _listed(text: str) -> Reading | None:
    """A list such as `1, 2 and 3`."""
    found = listed(text)
    if len(found.parts) < 2:
        return None if not found.parts or found.parts[0] == text else read(found.parts[0])
    return Several("list", found.parts, joined=found.joined)


def _signs(text: str) -> Reading | None:
    """The two values of `1 \\pm x`, as a list; `\\mp` takes the opposite sign."""
    marks = re.findall(r"\\(?:pm|mp)(?![a-zA-Z])", text)
    if not 1 <= len(marks) <= MOST_SIGNS or len(listed(text).parts) > 1:
        return None
    if text.startswith((r"\{", "[")) or (text.startswith("(") and several(text[1:-1])):
        return None
    tied = [("+",) * len(marks), ("-",) * len(marks)] if r"\mp" in marks else product("+-", repeat=len(marks))
    variants = [_with_signs(text, signs) for signs in tied]
    return Several("list", tuple(variants))


def _with_signs(text: str, signs: Sequence[str]) -> str:
    rest = iter(signs)

    def sign(mark: re.Match[str]) -> str:
        return {"+": "-", "-": "+"}[next(rest)] if mark[0] == r"\mp" else next(rest)

    return re.sub(r"\\(?:pm|mp)(?![a-zA-Z])", sign, text)


# --- relations, sets, tuples, matrices ----------------------------------------------------------------------

_SIGN = re.compile(r":?=|[<>]|\\(?:leq|geq|neq|in|approx|equiv)(?![a-zA-Z])")


def _relation(text: str) -> Reading | None:
    """A relation. An approximation beside an exact value is left out."""
    sides, signs = split(text, _SIGN)
    if not signs:
        return None
    signs = [sign.lstrip(":") for sign in signs]
    while len(signs) > 1 and signs[-1] == r"\approx":
        sides, signs = sides[:-1], signs[:-1]
    if signs == [r"\approx"] and sides[0] and not is_name(sides[0]):
        return read(sides[0])
    if not all(sides):
        return Opaque() if sides[0] or signs not in (["="], [r"\approx"]) else read(sides[1])
    return Relation(tuple(sides), tuple("=" if sign == r"\approx" else sign for sign in signs))


_MATRIX = re.compile(
    r"^\\begin\s*\{(?P<kind>[bpvBV]?(?:small)?matrix|array|cases|aligned|gathered)\}(?:\s*\{[clr|@{}. ]*\})?"
    r"(?P<body>.*)\\end\s*\{(?P=kind)\}$",
    re.DOTALL,
)


def _grid(text: str) -> Reading | None:
    fence = ""
    if text[:1] in ("[", "|") and text[-1:] in ("]", "|"):
        fence, text = text[0], text[1:-1].strip()
    match = _MATRIX.match(text)
    if not match or match["body"].count(r"\begin"):
        return None
    cells = rows_of(match["body"])
    kind = {"v": "determinant", "V": "norm", "c": "cases"}.get(match["kind"][0], "matrix")
    kind = "determinant" if fence == "|" else kind
    system = kind == "cases" or match["kind"] in ("aligned", "gathered")
    rows = tuple("".join(row) for row in cells)
    if system and all("=" in row and r"\text" not in row for row in rows):
        return Several("list", rows)
    return Grid(kind, cells)


def _calculated(text: str) -> Reading | None:
    """A matrix that is left to be worked out from others."""
    rows = worked_out(text) if r"\begin" in text else None
    return Grid("matrix", rows) if rows else None


_UNION = re.compile(r"\\cup(?![a-zA-Z])")
_MINUS = re.compile(r"\\(?:setminus|backslash)(?![a-zA-Z])")
_SUCH = re.compile(r"\\mid(?![a-zA-Z])|\||:")


def _sets(text: str) -> Reading | None:
    for kind, mark in (("union", _UNION), ("difference", _MINUS)):
        if len(parts := split(text, mark)[0]) > 1 and all(parts):
            sets = [read(part) for part in parts]
            if kind == "union" and all(isinstance(group, Several) and group.kind == "set" for group in sets):
                return Several(
                    "set", tuple(part for group in sets if isinstance(group, Several) for part in group.parts), "{}"
                )
            return Several(kind, tuple(parts))
    if text.startswith(r"\{") and text.endswith(r"\}") and encloses(text):
        inner = text[2:-2].strip()
        such, _ = split(inner, _SUCH)
        if len(such) == 2 and (members := family(such[1] if is_name(such[0]) else f"{such[0]}, {such[1]}")) is not None:
            return members
        if len(such) == 2 and is_name(split(such[0], re.compile(r"\\in(?![a-zA-Z])"))[0][0]):
            return read(such[1])
        return Several("set", tuple(_parts(inner)), "{}")
    if re.fullmatch(r"\\mathbb\s*(?:\{\s*R\s*\}|R)|\\text\s*\{\s*R\s*\}", text):
        return _REALS
    return Words("no solution") if text == r"\emptyset" else None


def _bracketed(text: str) -> Reading | None:
    text = re.sub(r"^\\langle(.*)\\rangle$", r"(\1)", text, flags=re.DOTALL)
    if text[:1] not in ("(", "[") or text[-1:] not in (")", "]") or not encloses(text):
        return None
    parts = _parts(text[1:-1])
    return Several("pair" if len(parts) == 2 else "tuple", tuple(parts), text[0] + text[-1]) if len(parts) > 1 else None


def _parts(inner: str) -> Sequence[str]:
    """The parts of a set or tuple; `\\pm 1` is two of them."""
    found: list[str] = []
    for part in enclosed(inner):
        several = _signs(part)
        found += several.parts if isinstance(several, Several) else [part]
    return found


def _ratio(text: str) -> Reading | None:
    parts, _ = split(text, re.compile(r":|\\text\s*\{\s*to\s*\}|(?<=\d)\s+to\s+(?=\d)"))
    return Several("ratio", tuple(parts)) if len(parts) > 1 and all(parts) else None
