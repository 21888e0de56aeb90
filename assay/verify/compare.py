"""Whether an answer says what the gold says: a ladder of exact comparisons, each of which may decide.

The gold declares the type: words, one number, a list or set without order, a tuple or interval with it, a matrix, an
equation, an expression. What no exact comparison decides is left to a `Symbolic`, or undecided where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from assay.verify import arithmetic
from assay.verify.arithmetic import TooBig, Tree, Unreadable
from assay.verify.quantities import Quantity, percent_left_out, quantity, terminates
from assay.verify.writing import LONGEST, balanced, clean, squeezed

MOST_PARTS = 64  # of a list
WORDS_LONGEST = 400


@dataclass(frozen=True)
class Decision:
    """`equal` is None where nothing exact decides."""

    equal: bool | None
    layer: str
    why: str


class Symbolic(Protocol):
    """What decides where exact arithmetic does not: expressions with roots, functions and constants, and relations."""

    def same(self, gold: str, answer: str) -> Decision: ...
    def between(self, answer: str, low: Fraction, high: Fraction) -> Decision: ...


class Unknown:
    """Leaves open what it is asked."""

    def same(self, gold: str, answer: str) -> Decision:
        return Decision(None, "symbolic", "not rational: left to a computer algebra system")

    def between(self, answer: str, low: Fraction, high: Fraction) -> Decision:
        return self.same("", answer)


def compare(gold: str, answer: str, *, symbolic: Symbolic | None = None) -> Decision:
    """Of two answers as they were written, without what stood around them."""
    if gold.strip() == answer.strip():
        return Decision(True, "text", "the same characters")
    if max(len(gold), len(answer)) > LONGEST:
        return Decision(False, "text", f"longer than {LONGEST} characters, and not the same")
    gold, answer = clean(gold), clean(answer)
    if squeezed(gold) == squeezed(answer):
        return Decision(True, "text", "the same but for spacing and notation")
    if not balanced(answer):
        return Decision(False, "form", "braces that do not close, or nest too deeply")
    return _Ladder(symbolic or Unknown()).climb(gold, answer, 0)


@dataclass(frozen=True)
class _Ladder:
    symbolic: Symbolic

    def climb(self, gold: str, answer: str, depth: int) -> Decision:
        """The first step that decides."""
        gold, answer = _bare(gold), _bare(answer)
        if squeezed(gold) == squeezed(answer):
            return Decision(True, "text", "the same but for spacing and notation")
        if depth > 6:
            return Decision(False, "form", "structures within structures")
        steps: Sequence[Callable[[str, str, int], Decision | None]] = (
            self.words,
            self.numbers,
            self.collections,
            self.matrices,
            self.equations,
            self.identities,
        )
        for step in steps:
            if decision := step(gold, answer, depth):
                return decision
        return self.symbolic.same(gold, answer)

    def words(self, gold: str, answer: str, depth: int) -> Decision | None:
        """A gold in words, or a letter of a choice, is compared as text."""
        wanted = _words(gold)
        if wanted is None:
            return None
        found = _words(answer)
        return Decision(found == wanted, "words", f"'{wanted}' against '{found if found is not None else answer[:40]}'")

    def numbers(self, gold: str, answer: str, depth: int) -> Decision | None:
        """Both are numbers: equal as fractions, or the answer rounds to a gold that declares its digits."""
        wanted, given = quantity(gold), quantity(answer)
        if wanted is None or (given is None and _loose(answer)):
            return None
        if given is None:
            return self._rounds(wanted, answer)
        if wanted.unit and given.unit and wanted.unit != given.unit:
            return Decision(False, "number", f"in {given.unit}, not in {wanted.unit}")
        if wanted.big or given.big:
            return Decision(False, "number", "too big to be worked out, and not written alike")
        return _number_decision(wanted, given)

    def _rounds(self, wanted: Quantity, answer: str) -> Decision | None:
        margin = wanted.margin(digits=2)
        if margin is None or wanted.number is None or "=" in answer or not _single(answer):
            return None
        low, high = wanted.number.value - margin, wanted.number.value + margin
        return self.symbolic.between(answer, low, high)

    def collections(self, gold: str, answer: str, depth: int) -> Decision | None:
        """Lists and sets without order, tuples and intervals with it; unions of them."""
        wanted, given = _collection(gold), _collection(answer)
        if wanted is None and given is None:
            return None
        if wanted is None or given is None:
            if _relation(gold) or _relation(answer) or "=" in gold:
                return None  # x > 2 and (2, oo)
            return Decision(False, "structure", _mismatch(wanted, given))
        if not _comparable(wanted, given):
            return Decision(False, "structure", f"{given.kind}, where the gold is {wanted.kind}")
        if len(wanted.parts) != len(given.parts):
            return Decision(False, "structure", f"{len(given.parts)} parts, not {len(wanted.parts)}")
        if len(wanted.parts) > MOST_PARTS:
            return Decision(sorted(wanted.parts) == sorted(given.parts), "structure", "long lists, compared as text")
        table = [[self.climb(g, a, depth + 1).equal for a in given.parts] for g in wanted.parts]
        ordered = wanted.ordered or given.ordered
        equal = _in_order(table) if ordered else _matched(table)
        return Decision(equal, "structure" if equal is not None else "symbolic", f"{wanted.kind}, part by part")

    def matrices(self, gold: str, answer: str, depth: int) -> Decision | None:
        """Entry by entry; a determinant is no matrix."""
        wanted, given = _matrix(gold), _matrix(answer)
        if wanted is None and given is None:
            return None
        if wanted is None or given is None or wanted[0] != given[0]:
            return Decision(False, "structure", "one is a matrix, and the other is not")
        shapes = [[len(row) for row in rows] for _, rows in (wanted, given)]
        if shapes[0] != shapes[1] or sum(shapes[0]) > MOST_PARTS:
            return Decision(False, "structure", "matrices of different shapes")
        pairs = [(g, a) for rows in zip(wanted[1], given[1]) for g, a in zip(*rows)]
        equal = _all(self.climb(g, a, depth + 1).equal for g, a in pairs)
        return Decision(equal, "structure" if equal is not None else "symbolic", "a matrix, entry by entry")

    def equations(self, gold: str, answer: str, depth: int) -> Decision | None:
        """`x = 5` says 5 to a gold without an equation, and the other way round; a chain of equations says nothing."""
        wanted, given = _sides(gold), _sides(answer)
        if len(wanted) == len(given) == 1:
            return None
        if len(wanted) == len(given) == 2:
            if squeezed(wanted[0]) == squeezed(given[0]) and _named(wanted[0]):
                return self.climb(wanted[1], given[1], depth + 1)
            return None
        if len(given) > 2 or len(wanted) > 2:
            return Decision(False, "equation", "a chain of equations is compared as it stands")
        longer, single = (wanted, given) if len(wanted) == 2 else (given, wanted)
        if not _named(longer[0]):
            return Decision(False, "equation", "an equation where a value is asked, or the other way round")
        values = (longer[1], single[0]) if longer is wanted else (single[0], longer[1])
        return self.climb(*values, depth + 1)

    def identities(self, gold: str, answer: str, depth: int) -> Decision | None:
        """Rational functions of the same symbols, decided at random points."""
        if _relation(gold) or _relation(answer):
            return None
        trees = _tree(gold), _tree(answer)
        if trees[0] is None or trees[1] is None:
            return None
        try:
            if not (arithmetic.rational(trees[0]) and arithmetic.rational(trees[1])):
                return None
            equal = arithmetic.same_function(trees[0], trees[1])
        except TooBig:
            return Decision(False, "identity", "too big to be worked out, and not written alike")
        return Decision(equal, "identity", "rational functions at random points")


# --- numbers ------------------------------------------------------------------------------------------------


def _loose(answer: str) -> bool:
    """Whether an answer that is no number may still say one: by an equation, a list, a name of its value."""
    return "=" in answer or not _single(answer)


def _single(text: str) -> bool:
    return _collection(text) is None and _matrix(text) is None and not _relation(text)


def _number_decision(wanted: Quantity, given: Quantity) -> Decision:
    gold, answer = wanted.number, given.number
    assert gold is not None and answer is not None
    if gold.value == answer.value:
        return Decision(True, "number", f"both are {_shown(gold.value)}")
    if gold.percent != answer.percent and percent_left_out(gold, answer):
        return Decision(True, "number", "the same number, one of them marked as a percentage")
    terminating = terminates(answer.value)
    margin = wanted.margin(digits=3 if terminating else 2)
    written = answer.place is None or (gold.place is not None and answer.place <= gold.place)
    if margin is not None and written and abs(answer.value - gold.value) <= margin:
        return Decision(True, "number", "rounds to the digits that the gold declares")
    return Decision(False, "number", f"{_shown(answer.value)} is not {_shown(gold.value)}")


def _shown(value: Fraction) -> str:
    return str(value) if max(abs(value.numerator), value.denominator) < 10**20 else "a long number"


# --- words, structures, equations ---------------------------------------------------------------------------

_CONNECTIVES = re.compile(r"(?:\\text\s*\{\s*(?:and|or)\s*\}|\s+(?:and|or)\s+)")
_OPEN, _CLOSE = "([{", ")]}"


def _bare(text: str) -> str:
    """Without a pair of round brackets or braces around one thing."""
    text = text.strip().rstrip(",;").strip()
    while len(text) > 2 and text[0] in "({" and _encloses(text, 0) and not _split(text[1:-1], ",;")[1:]:
        if (text[0], text[-1]) not in (("(", ")"), ("{", "}")):
            break
        text = text[1:-1].strip()
    return text


def _words(text: str) -> str | None:
    """Words in one spelling; a single capital letter stands for a choice. None for mathematics."""
    inner = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).strip(" .*")
    if letter := re.fullmatch(r"\(?([A-H])\)?[.:]?", inner):
        return letter[1].casefold()
    plain = re.fullmatch(r"[^\W\d_][^\W\d_'’\-–.,:;() ]*(?:[ '’\-–.,:;()]+[^\W\d_'’\-–.,:;() ]+)*[)]?", inner)
    if not plain or len(inner) > WORDS_LONGEST or not re.search(r"[^\W\d_]{3}", _CONNECTIVES.sub(" ", inner)):
        return None
    return " ".join(re.sub(r"[^\w]+", " ", inner).split()).casefold()


@dataclass(frozen=True)
class _Collection:
    kind: str
    ordered: bool
    brackets: str
    parts: tuple[str, ...]


def _collection(text: str) -> _Collection | None:
    if len(union := _split(text, r"\cup")) > 1:
        return _Collection("a union", False, "", tuple(union))
    if text.startswith(r"\{") and text.endswith(r"\}"):
        return _Collection("a set", False, "{}", tuple(_signs(_split(text[2:-2], ",;"))))
    if text[:1] in ("(", "[") and text[-1:] in (")", "]") and _encloses(text, 0):
        parts = _split(text[1:-1], ",;")
        if len(parts) > 1:
            return _Collection("an interval or tuple", True, text[0] + text[-1], tuple(parts))
        return None
    parts = _signs(_split(_CONNECTIVES.sub(",", text), ",;"))
    if len(parts) > 1:
        return _Collection("a list", False, "", tuple(parts))
    return None


def _comparable(wanted: _Collection, given: _Collection) -> bool:
    """A list in round brackets still says the list; sets and tuples are different things; ends of intervals count."""
    if (wanted.kind == "a union") != (given.kind == "a union"):
        return False
    if wanted.ordered != given.ordered:
        return wanted.kind == "a list" and given.brackets == "()"
    if wanted.ordered and len(wanted.parts) == 2:
        return wanted.brackets == given.brackets
    return True


def _mismatch(wanted: _Collection | None, given: _Collection | None) -> str:
    if wanted is None:
        assert given is not None
        return f"{given.kind} of {len(given.parts)}, where the gold is one thing"
    return f"one thing, where the gold is {wanted.kind} of {len(wanted.parts)}"


def _signs(parts: Sequence[str]) -> list[str]:
    """`2 \\pm x` is two things."""
    result: list[str] = []
    for part in parts:
        once = part.count(r"\pm") == 1
        result += [part.replace(r"\pm", sign) for sign in "+-"] if once else [part]
    return result


def _split(text: str, marks: str) -> list[str]:
    """At marks outside all brackets: single characters, or one command."""
    parts: list[str] = []
    depth = start = place = 0
    while place < len(text):
        char = text[place]
        if char == "\\" and text[place + 1 : place + 2] in ("{", "}"):
            depth += 1 if text[place + 1] == "{" else -1
            place += 2
            continue
        depth += 1 if char in _OPEN else -1 if char in _CLOSE else 0
        command = marks[0] == "\\"
        found = len(marks) * text.startswith(marks, place) if command else int(char in marks)
        if depth <= 0 and found:
            parts.append(text[start:place].strip())
            place = start = place + found
            continue
        place += 1
    parts.append(text[start:].strip())
    return [part for part in parts if part] or [""]


def _encloses(text: str, start: int) -> bool:
    """Whether the bracket at `start` closes at the very end."""
    depth = 0
    for place in range(start, len(text)):
        depth += 1 if text[place] in _OPEN else -1 if text[place] in _CLOSE else 0
        if depth == 0:
            return place == len(text) - 1
    return False


def _in_order(table: Sequence[Sequence[bool | None]]) -> bool | None:
    return _all(table[i][i] for i in range(len(table)))


def _all(values: object) -> bool | None:
    found = list(values)  # type: ignore[call-overload]
    return False if False in found else None if None in found else True


def _matched(table: Sequence[Sequence[bool | None]]) -> bool | None:
    """Whether rows and columns can be paired: surely, perhaps (None), or not."""
    if _perfect([[value is True for value in row] for row in table]):
        return True
    return None if _perfect([[value is not False for value in row] for row in table]) else False


def _perfect(allowed: Sequence[Sequence[bool]]) -> bool:
    owner: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column, fits in enumerate(allowed[row]):
            if fits and column not in seen:
                seen.add(column)
                if column not in owner or place(owner[column], seen):
                    owner[column] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(allowed)))


_MATRIX = re.compile(r"^\\begin\s*\{([bpvBV]?)matrix\}(.*)\\end\s*\{\1matrix\}$", re.DOTALL)


def _matrix(text: str) -> tuple[str, list[list[str]]] | None:
    """(which kind of thing it is, its rows)."""
    match = _MATRIX.match(text.strip())
    if not match:
        return None
    rows = [row for row in match[2].split(r"\\") if row.strip()]
    kind = {"v": "determinant", "V": "norm"}.get(match[1], "matrix")
    return kind, [[cell.strip() for cell in row.split("&")] for row in rows]


_RELATION = re.compile(r"[<>]|\\(?:leq|geq|neq|lt|gt)(?![a-zA-Z])")


def _relation(text: str) -> bool:
    return _RELATION.search(text) is not None


def _sides(text: str) -> list[str]:
    r"""Of an equation, or of `x \in S`."""
    sides = _split(text, "=")
    if len(sides) == 1:
        sides = _split(text, r"\in ")
    return sides


def _named(side: str) -> bool:
    """A variable, or a function of variables."""
    return (
        re.fullmatch(r"(?:\\?[a-zA-Z]+)(?:_\{?\w+\}?)?'?(?:\([a-zA-Z](?:,\s*[a-zA-Z])*\))?", side.strip()) is not None
    )


def _tree(text: str) -> Tree | None:
    try:
        return arithmetic.parse(text)
    except (Unreadable, TooBig):
        return None
