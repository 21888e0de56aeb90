"""Checks gold answers: can answers be verified against a gold, and is a carelessly written right answer accepted?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.verifiers.mathematics.against_gold import Explained, explain, gold_of
from assay.verifiers.mathematics.compare import UNDECIDED

PROSE = 10  # words; a longer gold is a text that no answer would repeat word for word
_COMMAND = re.compile(r"\\[a-zA-Z]+")
_THIN = re.compile(r"\\[,!;:> ]|\\q?quad(?![a-zA-Z])|~|[\u00a0\u2009\u202f]|(?<=\d)\s+(?=\d{3}(?!\d))")
_COMMA = re.compile(r"(?<=\d)(?:,|\{,\})(?=\d{3}(?!\d))")
_BRACKET = re.compile(r"\s*(?:\\left|\\big)?\s*(?:\(|\[|\\\{|\\langle)")
_UNIT = re.compile(
    r"(?<!_)(?:\\(?:text|textrm|textbf|mbox|mathrm|rm)\s*\{(?!\s*(?:or|and|mod)\b)[a-zA-Z. /]+\}(?:\^\{?-?\d\}?)?"
    r"|\^\s*\{?\s*\\circ\s*\}?|\\degree|\\?%)\.?\s*$"
)
_MONEY = re.compile(r"^\s*\\?\$\s*(?=[\d.])")


def troubles(golds: Sequence[str]) -> list[str | None]:
    """For each gold, why answers cannot be verified against it; None if they can.

    There are three reasons: the gold does not equal itself, it cannot be
    compared with a wrong answer of the same shape, or it is a whole text.
    """
    stated = [_stated(gold) for gold in golds]
    itself, another = _verified([(g, g) for g in stated]), _verified([(g, wrong_like(g)) for g in stated])
    return [_trouble(*one) for one in zip(stated, itself, another, strict=True)]


def _trouble(gold: str, itself: Explained, another: Explained) -> str | None:
    if itself.verdict.status != "ok":
        return itself.verdict.detail or itself.verdict.kind
    if another.verdict.status == "invalid" or another.verdict.kind == UNDECIDED:
        return another.verdict.detail or another.verdict.kind
    words = len(re.findall(r"[^\W\d_]{2,}", _COMMAND.sub(" ", gold)))
    return f"a text of {words} words, to which only the same words are equal" if words > PROSE else None


def _stated(gold: str) -> str:
    """The answer that a gold states; the gold may be a worked solution."""
    return gold_of(gold)[0] or gold


def wrong_like(gold: str) -> str:
    """A wrong answer of the gold's shape: each digit is changed by one. It is 7 if the gold has no digits."""
    other = re.sub(r"\d", lambda match: str(int(match[0]) ^ 1), gold)
    return other if other != gold else "7"


def careless(gold: str) -> dict[str, str]:
    """The gold as a careless writer would write it, by what is left out: thin
    spaces, commas, the unit, all of these.
    """
    tight = _THIN.sub("", gold)
    lone = not _BRACKET.match(tight) and "," not in _COMMA.sub("", tight)  # (1,200) may be a pair
    without_commas = (lambda text: _COMMA.sub("", text)) if lone else str
    written = {
        "thin spaces": tight,
        "commas": without_commas(gold),
        "the unit": _unitless(gold),
        "all of these": _unitless(without_commas(tight)),
    }
    variants: dict[str, str] = {}
    for what, text in written.items():
        if text.strip() and text != gold and text not in variants.values():
            variants[what] = text.strip()
    return variants


def _unitless(text: str) -> str:
    """The text without its unit. Only a number may lose its unit; any other text is returned unchanged."""
    rest = _MONEY.sub("", _UNIT.sub("", text))
    rest = re.sub(r"(?:\\[,!;: ]|~|\s)+$", "", rest) if rest != text else text
    return rest if re.search(r"\d|\\pi", rest) else text


def lost(golds: Sequence[str]) -> list[tuple[int, str, str, str]]:
    """The carelessly written golds that the verifier does not find equal to their gold.

    Each is (the gold's index, what was left out, the careless answer, why it is not equal).
    """
    written = [(i, what, text) for i, gold in enumerate(golds) for what, text in careless(_stated(gold)).items()]
    verified = _verified([(golds[i], text) for i, _, text in written])
    return [
        (i, what, text, one.verdict.detail or one.verdict.kind)
        for (i, what, text), one in zip(written, verified, strict=True)
        if one.verdict.status != "ok"
    ]


def _verified(pairs: Sequence[tuple[str, str]]) -> list[Explained]:
    return explain([(gold, f"\\boxed{{{answer}}}") for gold, answer in pairs])
