"""Common code of puzzles on a square grid: rows of characters in a question, rows of 0 and 1 in an answer."""

from __future__ import annotations

import re

_SEPARATORS = str.maketrans({"/": "\n", ",": "\n", ";": "\n", " ": None, "\t": None, "\r": None})
MOST_CHARACTERS = 400


def read_bits(text: str, size: int) -> list[list[int]] | str:
    """The rows of a square of 0 and 1, which `/`, commas or ends of lines separate; why the text is none.

    read_bits("01/10", 2)  # [[0, 1], [1, 0]]
    """
    if len(text) > MOST_CHARACTERS:
        return f"longer than {MOST_CHARACTERS} characters"
    rows = text.strip().translate(_SEPARATORS).split("\n")
    if len(rows) != size or any(re.fullmatch(f"[01]{{{size}}}", row) is None for row in rows):
        return f"expected {size} rows of {size} digits 0 or 1"
    return [[int(cell) for cell in row] for row in rows]


def written(rows: list[list[int]]) -> str:
    """The rows as an answer has them: `01/10`."""
    return "/".join("".join(map(str, row)) for row in rows)
