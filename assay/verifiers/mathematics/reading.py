"""Reads an answer into a typed value: a number or expression, a list, set, tuple or interval, a matrix, a relation, a
choice, or words.

An answer is split, outside all brackets, at the marks that bind least. Its parts stay texts, and are read when they are
compared. A gold is trusted more than an answer: any words behind its number are taken for its unit. This module does
not decide whether two answers are equal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from assay.verifiers.mathematics import words
from assay.verifiers.mathematics.expressions import plain_number
from assay.verifiers.mathematics.quantities import Quantity, quantity
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
class Group:
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


_REALS = Group("pair", (r"-\infty", r"\infty"), "()")
Reading = Words | Choice | Value | Based | Group | Grid | Relation | Opaque


@lru_cache(maxsize=4096)
def read(text: str, *, trusted: bool = False) -> Reading:
    """The typed value of a text, which must be cleaned (`writing.clean`) and have balanced braces.

    read(r"\\{1, 2\\}")  # Group("set", ("1", "2"), "{}")
    """
    text = bare(text)
    if (chosen := _choice(text)) is not None:
        return chosen
    if re.fullmatch(r"\].*[\[\]]|[\[(].*\[", text):  # ]1, 2] is another way to write (1, 2]
        text = {"]": "("}.get(text[0], text[0]) + text[1:-1] + {"[": ")"}.get(text[-1], text[-1])
    number = plain_number(text) is not None or in_words(text) is not None
    if not number and (said := words.plain(text)) is not None:
        return _REALS if said in ("all real numbers", "all reals", "real numbers") else Words(said)
    if not number and (found := _structure(text)) is not None:
        return found
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
    for step in (_told, _signs, _listed, _relation, _grid, _sets, _bracketed, _ratio):
        if (found := step(text)) is not None:
            return found
    return None


# --- splitting ----------------------------------------------------------------------------------------------

_STEP = re.compile(r"\\(?:begin|end|left|right)(?![a-zA-Z])|\\[a-zA-Z]+|\\.|.", re.DOTALL)
_OPEN = frozenset(("(", "[", "{", r"\{", r"\begin", r"\langle", r"\lfloor", r"\lceil"))
_CLOSE = frozenset((")", "]", "}", r"\}", r"\end", r"\rangle", r"\rfloor", r"\rceil"))


def split(text: str, mark: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """(the parts of a text between marks that are outside all brackets, those marks)."""
    parts: list[str] = []
    marks: list[str] = []
    depth = start = place = 0
    while place < len(text):
        if depth <= 0 and (found := mark.match(text, place)):
            parts.append(text[start:place].strip())
            marks.append(found[0].strip())
            place = start = found.end()
            continue
        step = _STEP.match(text, place)
        assert step is not None
        depth += (step[0] in _OPEN) - (step[0] in _CLOSE)
        place = step.end()
    parts.append(text[start:].strip())
    return parts, marks


def bare(text: str) -> str:
    """The text without round brackets or braces around a single value, and without a `\\text{}` around mathematics."""
    text = text.strip().rstrip(",;").strip()
    if (
        (shaped := re.match(r"\\text\s*(?=\{)", text))
        and encloses(text[shaped.end() :])
        and re.search(r"[\d\\]", text[5:])
    ):
        text = text[shaped.end() :]
    while len(text) > 2 and (text[0], text[-1]) in (("(", ")"), ("{", "}")) and encloses(text):
        if len(split(text[1:-1], _COMMA)[0]) > 1 and text[0] == "(":
            break
        text = text[1:-1].strip()
    return text


def encloses(text: str) -> bool:
    """Whether the bracket that begins a text closes at its end."""
    depth = place = 0
    while place < len(text):
        step = _STEP.match(text, place)
        assert step is not None
        depth += (step[0] in _OPEN) - (step[0] in _CLOSE)
        place = step.end()
        if depth == 0:
            return place == len(text)
    return False


# --- words --------------------------------------------------------------------------------------------------


def _choice(text: str) -> Choice | None:
    found = words.choice(text)
    return Choice(*found) if found else None


def _told(text: str) -> Reading | None:
    """The value that a sentence such as `The answer is 3` states."""
    said = words.told(text)
    return read(said) if said else None


# --- lists and signs ----------------------------------------------------------------------------------------

_AND = re.compile(r"\s*(?:\\text\s*\{\s*,?\s*(?:and|or)\s*,?\s*\}|(?<![a-zA-Z\\])(?:and|or)(?![a-z]))\s*|;")
_GROUPED = "|".join(rf"(?<=(?<![\d.])\d{{{n}}},)|(?<=,\d\d\d,)" for n in (1, 2, 3))
_COMMA = re.compile(r",")
_WHOLE = re.compile(  # "where k is an integer": the range of a letter in a family of solutions
    r"(?:\\text\s*\{\s*(?:where|for|with)\s*\}\s*|where\s+|for\s+)?[kmnl]\s*\\in\s*(?:\\mathbb|\\text)?\s*\{?\s*[ZN]\s*\}?(?:\^\+)?"
)
_APART = re.compile(rf",(?!(?:{_GROUPED})\d{{3}}(?!\d))")  # a comma, unless it groups thousands


def _listed(text: str) -> Reading | None:
    """A list such as `1, 2 and 3`. Two kinds of marks make a list of lists: `x = 1, y = 2; x = 3, y = 4`."""
    outer, marks = split(text, _AND)
    inner = [[part for part in split(chunk, _APART)[0] if part] for chunk in outer if chunk.strip(" ,")]
    if len(inner) > 1 and all(len(parts) > 1 for parts in inner):
        parts = [chunk.strip(" ,") for chunk in outer if chunk.strip(" ,")]
    else:
        parts = [part for parts in inner for part in parts]
    if len(rest := [part for part in parts if not _WHOLE.fullmatch(part)]) < len(parts):
        return read(", ".join(rest)) if rest else None
    if len(parts) < 2:
        return None if len(parts) < 1 or parts[0] == text else read(parts[0])
    joined = re.sub(r"[^a-z]", "", marks[0].replace(r"\text", "")) if marks else ","
    return Group("list", tuple(parts), joined=joined or ",")


def _signs(text: str) -> Reading | None:
    """The two values of `1 \\pm x`, as a list; `\\mp` takes the opposite sign."""
    marks = re.findall(r"\\(?:pm|mp)(?![a-zA-Z])", text)
    if not 1 <= len(marks) <= MOST_SIGNS or len(split(text, _AND)[0]) > 1 or len(split(text, _APART)[0]) > 1:
        return None
    if text.startswith((r"\{", "[")) or (text.startswith("(") and len(split(text[1:-1], _COMMA)[0]) > 1):
        return None
    tied = [("+",) * len(marks), ("-",) * len(marks)] if r"\mp" in marks else product("+-", repeat=len(marks))
    variants = [_with_signs(text, signs) for signs in tied]
    return Group("list", tuple(variants))


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


_NAME = re.compile(
    r"""(?:m\s*\\angle|\\angle|\\triangle|[a-zA-Z]|\\(?:alpha|beta|gamma|delta|epsilon|theta|lambda|mu|phi|varphi|omega|rho|
    sigma|tau|Delta|Omega|ell|vec|overline|overrightarrow|bar|hat|text|mathbf|mathcal|cos|sin|tan|log|ln|circ|det|deg)
    (?![a-zA-Z])|_\s*(?:\w|\{[^{}]*\})|\^\s*\{?\s*-1\s*\}?|'|\{[a-zA-Z0-9 ,.:'-]*\}|\s|:|\|)+""",
    re.VERBOSE,
)
_SPOKEN = re.compile(r"\\text\s*\{([^{}]*)\}|(?<!\\)\b([a-z]+)\b")  # NO is a line from N to O
_ARGUMENTS = re.compile(r"^(?P<head>.*[\w}'])\s*\((?P<arguments>[^()]{1,40})\)$", re.DOTALL)


def is_name(side: str) -> bool:
    """Whether one side of a relation is a name, not a value: `x`, `f(x)`, `\\angle ABC`, `(p, q)`, `V_1 : V_2`."""
    side = side.strip()
    if fraction := re.fullmatch(r"\\frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", side):
        return is_name(fraction[1]) and is_name(fraction[2])
    if side.startswith("(") and encloses(side):
        return all(is_name(part) for part in split(side[1:-1], _COMMA)[0])
    if match := _ARGUMENTS.match(side):
        side = match["head"]
    spoken = [text or word for text, word in _SPOKEN.findall(side)]
    if words.denied(" ".join(spoken)):
        return False
    return 0 < len(side) <= 80 and _NAME.fullmatch(side) is not None and re.fullmatch(r"\W*(?:e|i)\W*", side) is None


def name_of(side: str) -> tuple[str, str]:
    """(the name, its arguments): ("f", "x") for `f(x)`."""
    match = _ARGUMENTS.match(side.strip())
    squeezed = re.sub(r"[\s{}]|\\text", "", match["head"] if match else side)
    return squeezed, re.sub(r"\s", "", match["arguments"]) if match else ""


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
    rows = [row for row in re.split(r"\\\\(?:\[[^\]]*\])?|\\cr(?![a-zA-Z])", match["body"]) if row.strip()]
    kind = {"v": "determinant", "V": "norm", "c": "cases"}.get(match["kind"][0], "matrix")
    kind = "determinant" if fence == "|" else kind
    cells = tuple(tuple(cell.strip().rstrip(",") for cell in row.split("&")) for row in rows)
    system = kind == "cases" or match["kind"] in ("aligned", "gathered")
    if system and all("=" in row and r"\text" not in row for row in rows):
        return Group("list", tuple(row.replace("&", "").strip().rstrip(",") for row in rows))
    return Grid(kind, cells)


_UNION = re.compile(r"\\cup(?![a-zA-Z])")
_MINUS = re.compile(r"\\(?:setminus|backslash)(?![a-zA-Z])")
_SUCH = re.compile(r"\\mid(?![a-zA-Z])|\||:")


def _sets(text: str) -> Reading | None:
    for kind, mark in (("union", _UNION), ("difference", _MINUS)):
        if len(parts := split(text, mark)[0]) > 1 and all(parts):
            sets = [read(part) for part in parts]
            if kind == "union" and all(isinstance(one, Group) and one.kind == "set" for one in sets):
                return Group("set", tuple(part for one in sets if isinstance(one, Group) for part in one.parts), "{}")
            return Group(kind, tuple(parts))
    if text.startswith(r"\{") and text.endswith(r"\}") and encloses(text):
        inner = text[2:-2].strip()
        such, _ = split(inner, _SUCH)
        if len(such) == 2 and is_name(split(such[0], re.compile(r"\\in(?![a-zA-Z])"))[0][0]):
            return read(such[1])
        return Group("set", tuple(_parts(inner)), "{}")
    if re.fullmatch(r"\\mathbb\s*(?:\{\s*R\s*\}|R)|\\text\s*\{\s*R\s*\}", text):
        return _REALS
    return Words("no solution") if text == r"\emptyset" else None


def _bracketed(text: str) -> Reading | None:
    text = re.sub(r"^\\langle(.*)\\rangle$", r"(\1)", text, flags=re.DOTALL)
    if text[:1] not in ("(", "[") or text[-1:] not in (")", "]") or not encloses(text):
        return None
    parts = _parts(text[1:-1])
    return Group("pair" if len(parts) == 2 else "tuple", tuple(parts), text[0] + text[-1]) if len(parts) > 1 else None


def _parts(inner: str) -> Sequence[str]:
    """The parts of a set or tuple. A comma between digits groups thousands only
    if other commas are followed by a space.
    """
    mark = re.compile(rf"{_APART.pattern}|;") if re.search(r",\s", inner) else re.compile("[,;]")
    found: list[str] = []
    for part in split(inner, mark)[0]:
        several = _signs(part)
        found += several.parts if isinstance(several, Group) else [part]
    return found


def _ratio(text: str) -> Reading | None:
    parts, _ = split(text, re.compile(r":|\\text\s*\{\s*to\s*\}|(?<=\d)\s+to\s+(?=\d)"))
    return Group("ratio", tuple(parts)) if len(parts) > 1 and all(parts) else None
