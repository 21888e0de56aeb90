"""Families of solutions: an expression with a letter that stands for every number of a range, as in
`2k\\pi, k \\in \\mathbb{Z}`.

The range is part of the answer: the whole numbers are not the positive ones. The letter is not: it is bound, and may
have any other name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

from assay.verifiers.mathematics.structure import steps

WHOLE = "kmnl"  # letters that stand for whole numbers where nothing is said
MOST_LETTERS = 3


@dataclass(frozen=True)
class Family:
    """An expression, or a list of them, with letters that have a range.

    Example:
        family(r"2k\\\\pi, k \\\\in Z")  # Family(r"2k\\\\pi", (("k", "Z"),))
    """

    body: str
    letters: tuple[tuple[str, str], ...]  # each with its range: Z, N, N0, Z+, Q, R or C


_SET = r"(?:\\(?:mathbb|text)\s*)?\{?\s*(?P<set>[ZNQRC])\s*\}?"
_LIMIT = r"(?:\s*[\^_]\s*(?P<limit>\{[^{}]{1,12}\}|[+*0]|\\ast))?"
_LETTERS = r"(?P<letters>[a-zA-Z](?:\s*,\s*[a-zA-Z])*)"
_BEFORE = (
    r"(?:^|[\s,;(|]|(?<=\}))\s*(?:(?:where|for|with|and|when|if)\b\s*)?(?:(?:all|any|every|each|some|arbitrary)\b\s*)?"
)
_IN = re.compile(rf"{_BEFORE}{_LETTERS}\s*\\in\s*{_SET}{_LIMIT}\s*[).]?$")
_KIND = r"(?:(?:non-?negative|positive)\s+)?(?:integers?|whole\s+numbers?)|natural\s+numbers?"
_SAID = re.compile(
    rf"{_BEFORE}(?:(?P<kind>{_KIND})\s+{_LETTERS}"
    rf"|(?P<letter>[a-zA-Z])\s*(?:is|are|being)?\s*(?:an?\b|any\b|some\b)?\s*(?P<kind_behind>{_KIND}))\s*[).]?$"
)
_COUNTED = re.compile(
    rf"{_BEFORE}(?P<letter>[a-zA-Z])\s*=\s*(?:(?P<whole>0\s*,\s*\\pm\s*1)|(?P<from>[01])\s*,\s*[12])"
    r"(?:\s*,\s*(?:\\pm\s*)?\d)*\s*,\s*(?:\\[lc]?dots|\.\.\.)\s*[).]?$"
)
_NAMED = {"+": "Z+", "*": "Z+", r"\ast": "Z+", ">0": "Z+", r"\geq1": "Z+", "0": "N0", r"\geq0": "N0"}
_SPOKEN = (("non", "N0"), ("positive", "Z+"), ("natural", "N"))


def family(text: str) -> Family | None:
    """The family that a text describes; None if it gives no letter of an expression a range."""
    flat = " ".join(re.sub(r"\\text\s*\{([^{}]*[a-z]{2}[^{}]*)\}", r" \1 ", text).split())
    for pattern, ranges in ((_IN, _of_set), (_SAID, _of_words), (_COUNTED, _of_count)):
        if (match := pattern.search(flat)) is None:
            continue
        body, letters = flat[: match.start()].rstrip(" ,;(|"), ranges(match)
        if body and letters is not None and all(name in steps(body) for name, _ in letters):
            return Family(body, letters)
    return None


def _of_set(match: re.Match[str]) -> tuple[tuple[str, str], ...] | None:
    limit = re.sub(r"[\s{}]", "", match["limit"] or "")
    if limit and (limit not in _NAMED or match["set"] not in "ZN"):
        return None
    return tuple((name, _NAMED[limit] if limit else match["set"]) for name in re.findall("[a-zA-Z]", match["letters"]))


def _of_words(match: re.Match[str]) -> tuple[tuple[str, str], ...]:
    kind = match["kind"] or match["kind_behind"]
    named = next((name for begins, name in _SPOKEN if kind.startswith(begins)), "Z")
    letters = re.findall("[a-zA-Z]", match["letters"]) if match["letters"] else [match["letter"]]
    return tuple((name, named) for name in letters)


def _of_count(match: re.Match[str]) -> tuple[tuple[str, str], ...] | None:
    return ((match["letter"], "Z" if match["whole"] else "N0" if match["from"] == "0" else "Z+"),)


# --- two families -------------------------------------------------------------------------------------------


def matched(gold: Family | str, answer: Family | str) -> Iterator[tuple[str, str]]:
    """Pairs of expressions, one of which must be equal for two families to be equal: the gold's, and the answer's in
    the letters of the gold. A side without a range is a text, and its letters have the range that is usual for them.
    """
    wanted, given = _letters(gold, answer), _letters(answer, gold)
    bodies = [side.body if isinstance(side, Family) else side for side in (gold, answer)]
    if len(wanted) != len(given) or len(wanted) > MOST_LETTERS:
        return
    free = {step for step in steps(bodies[1]) if step.isalpha()} - given.keys()
    if free & wanted.keys():
        return  # a letter of the gold would bind another letter of the answer
    for order in permutations(given):
        if all(wanted[name] == given[other] for name, other in zip(wanted, order, strict=True)):
            yield bodies[0], renamed(bodies[1], dict(zip(order, wanted, strict=True)))


def _letters(side: Family | str, other: Family | str) -> Mapping[str, str]:
    """The bound letters of one side, with their ranges."""
    if isinstance(side, Family):
        return dict(side.letters)
    assert isinstance(other, Family)
    there, bound = set(steps(side)), [name for name, _ in other.letters]
    free = set(steps(other.body)) - set(bound)
    names = bound if all(name in there for name in bound) else [n for n in WHOLE if n in there and n not in free]
    return {name: "Z" if name in WHOLE else "R" for name in names}


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The text with other letters. Letters of commands and of words stay."""
    pieces = re.split(r"(\\text\s*\{[^{}]*\})", text)
    return "".join(
        piece if at % 2 else "".join(names.get(step, step) for step in steps(piece)) for at, piece in enumerate(pieces)
    )
