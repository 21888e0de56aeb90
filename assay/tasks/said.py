"""The claim of a short answer in everyday words, for tasks whose answers have no mark.

An answer may be one word or a sentence around it: `went`, `The past tense of "go" is "went".` Words of the question,
and words that only introduce an answer, are set aside. The rest must be one accepted answer, so an answer that names
several candidates is wrong, in any order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

MOST = 300  # characters of an answer
_PHRASES = (
    "a an and answer antonym are as be boxed called capital city country english exact following for form hence "
    "here in is it its known located name named noun of opposite past plural result singular so sure tense that "
    "the therefore this to verb was which word would"
)
PHRASES = frozenset(_PHRASES.split())
"""Words that introduce an answer and are none."""
_TYPOGRAPHY = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"})
_WORD = re.compile(r"[a-z0-9]+")
_NUMBER = re.compile(r"[-\u2212]?\d+(?:[.,]\d+)*")


def words_of(text: str) -> list[str] | None:
    """The words of a text in small letters, without accents; None if it is long or has characters of other alphabets.

    words_of("“São Paulo's”")  # ["sao", "paulo"]
    """
    if len(text) > MOST:
        return None
    plain = unicodedata.normalize("NFD", text.translate(_TYPOGRAPHY).lower())
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    return _WORD.findall(re.sub(r"(?<=[a-z0-9])'s\b", "", plain)) if plain.isascii() else None


def names_one(text: str, accepted: Collection[str], aside: Collection[str] = ()) -> str | None:
    """The accepted answer, if a text names it, once or several times, and names nothing else; None otherwise.

    Words of `aside` and of PHRASES do not count.

    names_one('The past tense of "go" is "went".', ("went",), aside=("go",))  # "went"
    names_one("went, goed", ("went",))  # None
    """
    left = [word for word in words_of(text) or () if word not in PHRASES and word not in aside]
    return next((one for one in accepted if left and left == _repeated(one.lower().split(), len(left))), None)


def _repeated(words: Sequence[str], length: int) -> list[str]:
    return [*words] * (length // len(words))


def gives_number(text: str, value: int, terms: Sequence[int]) -> bool:
    """Whether a text gives this number and no other. The terms of the question may come before it, in any order.

    gives_number("7 times 8 is 56.", 56, (8, 7))  # True
    gives_number("54 or 56", 56, (8, 7))  # False
    """
    numbers = _NUMBER.findall(text) if len(text) <= MOST else []
    before = numbers[: len(terms)]
    if len(numbers) > len(terms) and sorted(before) == sorted(map(str, terms)):
        numbers = numbers[len(terms) :]
    return bool(numbers) and set(numbers) == {str(value)}
