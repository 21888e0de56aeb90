"""Words in an answer: multiple-choice letters, sentences that state a value, phrases, numbers that are spelled out."""

from __future__ import annotations

import re

WORDS_LONGEST = 400

_CHOICE = re.compile(
    r"^(?:\\text\s*\{\s*\(?([A-J])\)?[.:)]?\s*\}|\(\s*(?:\\text\s*\{\s*)?([A-J])\s*\}?\s*\)|([A-J])[.:](?=\s)|([A-J])[.:)]?$)"
    r"[\s:.\\]*(.*)$",
    re.DOTALL,
)
_NAMED = re.compile(r"^([B-HJ])\s+([A-Z][a-z]+(?:\s[\w ]*)?)$")  # C Cecile; A may be an article, and I a pronoun
_LEAD = re.compile(
    r"^(?P<lead>[a-zA-Z][a-zA-Z ,'’]*?)(?:(?:\s(?:is|are|equals|be)(?:\s+(?:equal to|just|simply))?\s*:?"
    r"|\s*:)|(?<=[Aa]nswer))\s+(?P<said>\S.*)$",
    re.DOTALL,
)
_DENIED = re.compile(
    r"\b(?:not|no|never|wrong|incorrect|false|except|unless|more|less|fewer|than|least|most|about|between|either|if|or|and"
    r"|up|over|under|around)\b|n['’]t",
    re.IGNORECASE,
)


def denied(text: str) -> bool:
    """Whether words deny or weaken the value beside them: "not 5", "about 5", "5 or more"."""
    return _DENIED.search(text) is not None


def choice(text: str) -> tuple[str, str] | None:
    """(the letter of a multiple choice, the text behind the letter); None if the text is no choice."""
    if named := _NAMED.match(text):
        return named[1], named[2]
    if not (match := _CHOICE.match(text)):
        return None
    letter, behind = next(group for group in match.groups()[:4] if group), match[5].strip()
    if behind and re.match(r"[-+*/^=<>!_'(]|\\(?:cdot|times|cup|cap|in|subset|geq|leq|neq)(?![a-zA-Z])", behind):
        return None  # (A) + (B), (A)^2
    return letter, behind


def told(text: str) -> str | None:
    """The value that a sentence states: 3 for `The answer is 3`. None if there
    is none, or if the sentence denies it.
    """
    flat = " ".join(re.sub(r"^\\text\s*\{([^{}]*)\}", r"\1 ", text).split())
    match = _LEAD.match(flat)
    if match is None or denied(match["lead"]):
        return None
    mathematics = re.match(r"[-+(\[|.\d\\$]|[a-zA-Z](?![a-zA-Z])", match["said"])
    return match["said"] if mathematics else None


def plain(text: str) -> str | None:
    """The words in one spelling; None if the text is mathematics."""
    inner = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).strip(" .*")
    found = re.fullmatch(r"[^\W\d_][^\W\d_'’\-–.,:;() ]*(?:[ '’\-–.,:;()]+[^\W\d_'’\-–.,:;() ]+)*[)]?", inner)
    named = re.search(r"[^\W\d_]{3}", re.sub(r"\b(?:and|or)\b", " ", inner))
    return spelled(inner) if found and named and len(inner) <= WORDS_LONGEST else None


_DNE = ("dne", "undefined", "not defined", "does not exist")
_NOTHING = ("no solution", "no solutions", "no real solution", "no real solutions", "empty set")


def spelled(text: str) -> str:
    """A phrase in small letters, without punctuation and article. A phrase with numbers keeps its punctuation."""
    inner = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text).casefold()
    if re.search(r"[\d\\]", inner):
        return " ".join(inner.split())
    words = re.sub(r"^(?:the|a|an) ", "", " ".join(re.sub(r"[^\w]+", " ", inner).split()))
    return "no solution" if words in _NOTHING else "does not exist" if words in _DNE else words


# --- numbers that are spelled out ---------------------------------------------------------------------------

MULTIPLES = {
    "dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "gross": 144,
}  # fmt: skip
_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen"""
_DECADES = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL = {word: number for number, word in enumerate(_ONES.split())}
_TENS = {word: 10 * number for number, word in enumerate(_DECADES.split(), start=2)}


def in_words(text: str) -> int | None:
    """A number in words, such as `twenty-one` or `one hundred and five thousand`; None if the text is none."""
    words = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).strip().casefold().replace("-", " ").split()
    if not 1 <= len(words) <= 20 or not all(re.fullmatch("[a-z]+", word) for word in words):
        return None
    negative = words[0] in ("minus", "negative")
    total = group = 0
    last = 0  # the kind of word before: 20 for tens, which a unit may follow; 1 for a unit, which no number may follow
    for index, word in enumerate(words[1:] if negative else words):
        if word in _SMALL and last in (0, 20) and not (last == 20 and not 1 <= _SMALL[word] <= 9):
            group, last = group + _SMALL[word], 1
        elif word in _TENS and last == 0:
            group, last = group + _TENS[word], 20
        elif word == "hundred" and 0 < group < 100:
            group, last = group * 100, 0
        elif word in ("thousand", "million", "billion") and group:
            total, group, last = total + group * MULTIPLES[word], 0, 0
        elif word != "and" or not (index and group + total):
            return None
    return -(total + group) if negative else total + group if words[-1] != "and" else None
