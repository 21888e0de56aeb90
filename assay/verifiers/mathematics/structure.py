"""The structure of an answer: which brackets enclose what, and which marks separate its parts.

Every comparison takes its parts from here, so that one text has one structure:

- Marks count outside all brackets only. A semicolon separates more than a comma: `1, 2; 3` has two parts, and the first
  of them has two.
- A comma separates, unless it groups thousands: `1,3` and `0,5` are two numbers, `1,234` is one. Within brackets it
  groups thousands only if other commas there are followed by a space: `(1,234)` has two parts, `(1,234, 5)` too.
- `and` and `or` separate parts of one list, as the commas beside them do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_STEP = re.compile(r"\\(?:begin|end|left|right)(?![a-zA-Z])|\\[a-zA-Z]+|\\.|.", re.DOTALL)
_PAIRS = {
    "(": ")", "[": "]", "{": "}", r"\{": r"\}", r"\begin": r"\end", r"\langle": r"\rangle", r"\lfloor": r"\rfloor",
    r"\lceil": r"\rceil",
}  # fmt: skip
_OPEN, _CLOSE = frozenset(_PAIRS), frozenset(_PAIRS.values())

_SEMICOLON = re.compile(";")
_COMMA = re.compile(",")
_EITHER = re.compile("[,;]")
_AND = re.compile(r"\s*(?:\\text\s*\{\s*,?\s*(?:and|or)\s*,?\s*\}|(?<![a-zA-Z\\])(?:and|or)(?![a-z]))\s*")
_GROUPED = "|".join([*(rf"(?<=(?<![\d.])[1-9]\d{{{n}}},)" for n in (0, 1, 2)), r"(?<=,\d\d\d,)"])
_APART = re.compile(rf",(?!(?:{_GROUPED})\d{{3}}(?!\d))")  # a comma, unless it groups thousands


def steps(text: str) -> list[str]:
    """The characters of a text, with every command as one: `\\pi`, `\\{`."""
    return [step[0] for step in _STEP.finditer(text)]


def split(text: str, mark: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """(parts, marks) of a text: the marks outside all brackets, and the parts that they separate."""
    parts: list[str] = []
    marks: list[str] = []
    depth = start = position = 0
    while position < len(text):
        if depth <= 0 and (match := mark.match(text, position)):
            parts.append(text[start:position].strip())
            marks.append(match[0].strip())
            position = start = match.end()
            continue
        step = _STEP.match(text, position)
        assert step is not None
        depth += (step[0] in _OPEN) - (step[0] in _CLOSE)
        position = step.end()
    parts.append(text[start:].strip())
    return parts, marks


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


def nested(text: str) -> bool:
    """Whether every bracket closes with one of its kind."""
    still: list[str] = []
    for step in steps(text):
        if step in _OPEN:
            still.append(_PAIRS[step])
        elif step in _CLOSE and (not still or still.pop() != step):
            return False
    return not still


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
        if several(text[1:-1]) and text[0] == "(":
            break
        text = text[1:-1].strip()
    return text


def several(text: str) -> bool:
    """Whether a comma or a semicolon separates parts of a text."""
    return len(split(text, _EITHER)[0]) > 1


@dataclass(frozen=True)
class Listed:
    """The parts of a text that stands in no brackets, and the word between them: `and`, `or`, or a comma."""

    parts: tuple[str, ...]
    joined: str = ","


def listed(text: str) -> Listed:
    """The parts of a list without brackets. A list of lists has lists as its parts: `x = 1, y = 2; x = 3, y = 4`."""
    chunks = [chunk for chunk in split(text, _SEMICOLON)[0] if chunk.strip(" ,")]
    if len(chunks) > 1:
        return Listed(tuple(chunk.strip(" ,") for chunk in chunks))
    outer, marks = split(chunks[0] if chunks else "", _AND)
    inner = [[part for part in split(chunk, _APART)[0] if part] for chunk in outer if chunk.strip(" ,")]
    if len(inner) > 1 and all(len(parts) > 1 for parts in inner):
        parts = [chunk.strip(" ,") for chunk in outer if chunk.strip(" ,")]
    else:
        parts = [part for parts in inner for part in parts]
    word = re.sub(r"[^a-z]", "", marks[0].replace(r"\text", "")) if marks else ""
    return Listed(tuple(parts), word or ",")


def enclosed(inner: str) -> list[str]:
    """The parts of what stands in brackets or braces."""
    parts = split(inner, _SEMICOLON)[0]
    if len(parts) > 1:
        return parts
    return split(inner, _APART if re.search(r",\s", inner) else _COMMA)[0]
