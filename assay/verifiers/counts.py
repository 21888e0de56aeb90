"""What a text has: sentences, and whether it is JSON. Times grow with the length of the text."""

from __future__ import annotations

import json
import re
from typing import Any

SAYS = re.compile(r"[^\W_]")  # a letter or a digit: text without any says nothing
_ENDS = re.compile(r"(?<![.!?])[.!?]++[\"'”’)\]]*+(?=\s|$)")
_SHORT = frozenset(
    {"dr", "mr", "mrs", "ms", "prof", "st", "vs", "e.g", "i.e", "cf"}
)  # a full stop shortens these words


def sentences(text: str) -> int:
    """The number of sentences: stretches of text that end with a full stop, an exclamation or a question mark.

    A quotation mark or a bracket may follow the mark. The stop of 'Dr.' or 'e.g.' ends a sentence only at the end of
    the text. A mark without words before it ends no sentence.
    """
    count, begin, said, last = 0, 0, False, len(text.rstrip())
    for end in _ENDS.finditer(text):
        said = said or bool(SAYS.search(text, begin, end.start()))
        word = text[max(begin, end.start() - 12) : end.start()].split()[-1:]
        begin = end.end()
        shortened = end[0] == "." and begin < last and word and word[0].lstrip("\"'(“‘").casefold() in _SHORT
        if said and not shortened:
            count, said = count + 1, False
    return count


def is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")
