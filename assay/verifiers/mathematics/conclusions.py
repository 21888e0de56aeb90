"""The conclusion of a text that marks no answer: the value that its last statement gives.

The rule does not know the gold, and never chooses between values. A statement that gives several values, denies its
value or weakens it ("not 5", "at least 5") concludes nothing, so that nothing is won by naming more than one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assay.verifiers.mathematics.names import is_name
from assay.verifiers.mathematics.quantities import unit
from assay.verifiers.mathematics.words import MULTIPLES

SEEN = 2_000  # characters at the end of a text
MOST_VALUES = 8  # of one statement
NEAR = 3  # words beside a value that may weaken it

_FORMULA = re.compile(
    r"\$\$(?P<shown>.+?)\$\$|\\\[(?P<set>.+?)\\\]|(?<!\\)\$(?P<inline>[^$\n]+?)(?<!\\)\$|\\\((?P<round>[^\n]+?)\\\)",
    re.DOTALL,
)
_FIRST_PLACEHOLDER = 0xE000  # characters for private use stand for formulas while a text is cut into statements
_PLACEHOLDER = re.compile("[\ue000-\uf8ff]")
_WORDY = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{3,}")
_UNCLOSED = re.compile(r"(?<![\d\\])\$(?!\s?[\d.])|(?<=\d)\s?\$(?=\w)|\\[()\[\]]")
_TOKENS = re.compile(r"(?:<\|\w{1,40}\|>\s*(?:(?:user|assistant|system)\b\s*)?)+$")  # that end a turn of a chat

_THEREFORE = "therefore|thus|hence|consequently|donc|ainsi|daher|folglich|por lo tanto|quindi|portanto|поэтому|значит"
_SO = r"so(?!\s+(?:that|far|many|much|on|to|long)\b)"
_STATEMENT = re.compile(
    r"\n+|[。！？।؟]|(?:[.?]|(?<!\d)!)(?=[\s\"')\]*]|$)|;\s|所以|因此|故此|于是|इसलिए|لذا"
    rf"|\b(?i:{_THEREFORE})\b|(?<=[,;:])\s*{_SO}\b|\b{_SO.replace('s', 'S', 1)}\b"
)
_WORD = re.compile(r"(?<!\\)\b[^\W\d_]{2,}\b|[\u0900-\u0dff\u3040-\u9fff]")
_NAME = re.compile(r"(?<![\w\\^_}])[a-zA-Z](?:_\w+)?(?:\([a-z]\))?\s*$")  # before an equality sign
_NUMBER = r"(?:\d+(?:[.,]\d+)*|\.\d+)"
_RUN = re.compile(rf"[-+−(\[\s$€£¥=]*{_NUMBER}(?:[\s\d.,%()\[\]+\-−*/^=×÷·√π$€£¥]*[\d%)\]π$€£¥])?")
_BARE = re.compile(
    r"(?<![\w}\])^_+\-*/=]\s)(?<![\w}\])^_+\-*/=])-?\\[dt]?frac\s*\{-?\d+\}\s*\{\d+\}(?![\s)\]]*[A-Za-z0-9{(\\^_+\-*/=])"
)
_BEHIND = re.compile(r"\s?(?:[A-Za-z]+[²³]?|°)(?:\s(?:per|squared|cubed|[a-z]{2,}))*")
_COPULA = re.compile(
    r"(?:\b(?:is|are|was|be|equals?|est|sont|es|ist|sind|gives?|get|è|é|равно)|(?:it|that)['’]s|[:：=是为為])\s*(?:\*\*)?$",
    re.IGNORECASE,
)
_JOINT = re.compile(r"[\s,;*]*(?:\b(?:and|or|et|ou|und|oder|y|o)\b|和|或|与)?[\s,;*]*", re.IGNORECASE)
_BOLD = re.compile(r"\*\*(?:(?!\*\*).)+\*\*")

_DENIED = re.compile(
    r"\b(?:not|no|never|neither|nor|wrong|incorrect|false|unless|except|but|if|whether|hardly|mistake\w*|instead|either|or"
    r"|cannot|pas|ni|ou|si|faux|nicht|kein\w*|oder|wenn|falsch|não|nao|или|не|нет|если)\b|n['’]t\b"
    r"|不|非|没|沒|错|錯|或|如果|ليس|لا|أو|नहीं|या",
    re.IGNORECASE,
)
_WEAKENED = re.compile(
    r"\b(?:more|less|fewer|greater|smaller|larger|than|least|most|about|around|nearly|almost|over|under|up|between"
    r"|approximately|roughly|close|beyond|above|below|exceeds?|exceeding|times|mod|modulo|choose|factorial|squared|cubed"
    r"|plus|minus|divided|multiplied|half|halves|thirds?|quarters?|fourths?|fifths?|sixths?|sevenths?|eighths?|ninths?"
    r"|tenths?|hundredths?|thousandths?|environ|plus|moins|entre|fast|etwa|über|lakhs?|crores?|to|through|out)\b"
    r"|大约|约|約|至少|至多|少于|多于|超过|大于|小于|倍|分之|[百万萬亿億十]|千(?![克米瓦])",
    re.IGNORECASE,
)
_REFUSED_BEFORE = re.compile(r"(?:\b(?:not|never|no)\b|n['’]t\b)[\sA-Za-z'’]{0,16}$|(?:不是|不)\s*$", re.IGNORECASE)


class Unclear(Exception):
    """The statement cannot be read with certainty."""


@dataclass(frozen=True)
class _Given:
    """A value that a statement gives, and where."""

    text: str
    start: int
    end: int
    stated: bool = False  # whether "is" or an equality sign stands directly before it


def concluded(text: str) -> tuple[str, ...]:
    """The values that the last statement with a value gives, all of which must be right; none if it concludes nothing.

    concluded("We add. So there are 12 ways in all.")  # ("12",)
    concluded("It is 12 or 13.")  # ()
    """
    text = _end_of(text)
    formulas: list[str] = []

    def protect(match: re.Match[str]) -> str:
        content = next(group for group in match.groups() if group is not None)
        plain = re.sub(r"\\(?:text|mathrm|mbox)\s*\{[^{}]*\}", " ", content)
        if match["inline"] is not None and _WORDY.search(plain):
            return match[0]  # two prices
        formulas.append(content.strip(" \n.,;"))
        return chr(_FIRST_PLACEHOLDER + len(formulas) - 1)

    plain = _FORMULA.sub(protect, _PLACEHOLDER.sub(" ", text))
    if not _WORD.search(plain) or _UNCLOSED.search(plain[-SEEN // 4 :]):
        return ()  # no sentence, or a formula that does not close
    for statement in reversed(_STATEMENT.split(plain)):
        try:
            values = _values(statement, formulas)
        except Unclear:
            return ()
        if values is not None:
            return values
        if _DENIED.search(statement):
            return ()
    return ()


def _end_of(text: str) -> str:
    """The last characters of a text, without what ends a turn, from outside a formula on."""
    kept = text[-SEEN:]
    cut = text[: len(text) - len(kept)]
    kept = kept.partition("$")[2] if cut.replace("$$", "").count("$") % 2 else kept
    return _TOKENS.sub("", kept)


def _values(statement: str, formulas: list[str]) -> tuple[str, ...] | None:
    """The values of one statement; None if it has none. Raises Unclear if it has some, and which is unclear."""
    given = list(_given(statement, formulas))
    if not given:
        return None
    if len(given) > MOST_VALUES:
        raise Unclear
    kept = [value for value in given if not _REFUSED_BEFORE.search(statement[: value.start])]
    if not kept:
        raise Unclear
    bold = [match.span() for match in _BOLD.finditer(statement)]
    marked = [value for value in kept if any(start <= value.start and value.end <= end for start, end in bold)]
    kept = _joined(statement, marked or kept)
    if not marked and len(kept) > 1 and kept[-1].stated and not any(value.stated for value in kept[:-1]):
        kept = kept[-1:]
    rest = _without(statement, [value for value in given if value not in kept and value not in marked], kept)
    if _DENIED.search(rest) or any(_weakened(statement, value) for value in kept):
        raise Unclear
    return tuple(dict.fromkeys(value.text for value in kept))


def _given(statement: str, formulas: list[str]) -> Iterator[_Given]:
    for match in re.finditer(rf"{_PLACEHOLDER.pattern}|{_BARE.pattern}|{_RUN.pattern}|\\|[{{}}]", statement):
        if match[0] in ("\\", "{", "}"):
            raise Unclear  # mathematics outside a formula
        if _PLACEHOLDER.match(match[0]):
            text = formulas[ord(match[0]) - _FIRST_PLACEHOLDER]
            if text and not is_name(text):
                yield _Given(text, *match.span(), _COPULA.search(statement[: match.start()]) is not None)
        elif _BARE.fullmatch(match[0]):
            yield _Given(match[0], *match.span(), _COPULA.search(statement[: match.start()].rstrip("( ")) is not None)
        else:
            yield _number(statement, match)


def _number(statement: str, match: re.Match[str]) -> _Given:
    """A number or a calculation in plain digits, with the unit behind it."""
    lead = re.match(r"[\s=]*", match[0])
    assert lead is not None
    text = match[0][lead.end() :].rstrip(" .,")
    start = match.start() + lead.end()
    end = start + len(text)
    text = _balanced(text)
    before = statement[:start].rstrip(" ")
    if re.match(r"[-+−]\s", text) or re.search(r"[A-Za-z_\\^]$", statement[:start]):
        raise Unclear
    if "=" in lead[0]:
        name = _NAME.search(statement[: match.start()])
        text = f"{name[0].strip()} = {text}" if name else text
    stated = "=" in lead[0] or "=" in text or _COPULA.search(before) is not None
    if statement[end : end + 1] in ("!", "^", "_"):
        raise Unclear  # 5!
    behind = _BEHIND.match(statement, end)
    if behind is None:
        return _Given(text, start, end, stated)
    name, close = behind[0].strip(), not behind[0][0].isspace()
    words = name.split()
    for count in range(min(4, len(words)), 0, -1):
        some = " ".join(words[:count])
        known_unit = unit(some.replace("²", "^2").replace("³", "^3"))
        if some.casefold() == "in" and count < len(words):
            continue  # "5 in all" are no inches
        if known_unit is not None or (count == 1 and words[0].casefold() in {*MULTIPLES, "percent", "°"}):
            return _Given(f"{text} {some}", start, end + behind[0].index(some) + len(some), stated)
    if close or (len(words[0]) == 1 and words[0] not in "aAI"):
        raise Unclear  # 5x
    return _Given(text, start, end, stated)


def _balanced(text: str) -> str:
    """The text without brackets at its ends that have no other end. Raises Unclear for `(1,2]`."""
    if text.count("(") != text.count(")") and text.count("[") != text.count("]"):
        raise Unclear
    for opened, closed in ("()", "[]"):
        while text.count(opened) > text.count(closed) and text.startswith(opened):
            text = text[1:].lstrip()
        while text.count(closed) > text.count(opened) and text.endswith(closed):
            text = text[:-1].rstrip()
    if text.startswith("[") and text.endswith("]") and "," not in text:
        text = text[1:-1].strip()
    return text


def _joined(statement: str, given: list[_Given]) -> list[_Given]:
    """The values; neighbours with only commas or words such as "and" between them become one list."""
    found = given[:1]
    for one in given[1:]:
        last = found[-1]
        if _JOINT.fullmatch(statement[last.end : one.start]):
            found[-1] = _Given(f"{last.text}, {one.text}", last.start, one.end, last.stated)
        else:
            found.append(one)
    return found


def _without(statement: str, refused: list[_Given], kept: list[_Given]) -> str:
    """The words of a statement, without its values and without the words that deny another value."""
    rest, place = [], 0
    for one in sorted([*refused, *kept], key=lambda one: one.start):
        before = statement[place : one.start]
        rest.append(_REFUSED_BEFORE.sub(" ", before) if one in refused else before)
        place = max(place, one.end)
    return " ".join([*rest, statement[place:]])


def _weakened(statement: str, one: _Given) -> bool:
    before = statement[: one.start].split()[-NEAR:]
    behind = statement[one.end :].split()[:NEAR]
    return _WEAKENED.search(" ".join(before)) is not None or _WEAKENED.search(" ".join(behind)) is not None


# --- letters of a choice ------------------------------------------------------------------------------------

_CLAUSE = re.compile(r"\n+|[,;。！？，、.!?](?=\s|$|[^\W\d_A-Za-z])|[。！？，]|\b(?:because|since|as|parce)\b")
_AGAINST = re.compile(r"(?=\b(?:not|never|no|non|pas)\b|\b\w+n['’]t\b|\bcannot\b|不是|不|非)", re.IGNORECASE)
_EITHER = re.compile(r"\b(?:or|and|either|ou|oder)\b|或|和", re.IGNORECASE)
_EDGE = r"\w'’\\{}^_+=/<>|\-"  # the neighbours of a letter in mathematics or within a word
_LETTER = re.compile(rf"(?<![{_EDGE}*])(?:\*\*)?\(?([A-J])\)?(?:\*\*)?(?![{_EDGE}*])(?!\s+[a-z])|^\s*([B-HJ])(?=不)")


def chosen(text: str) -> str | None:
    """The one letter of a choice that a text states; None if it states none, or several.

    chosen("It is not A, therefore I think it is B.")  # "B"
    """
    letters: set[str] = set()
    for clause in _CLAUSE.split(_TOKENS.sub("", text[-SEEN:])):
        stated = _AGAINST.split(clause or "", maxsplit=1)[0]
        found = {next(filter(None, match.groups())) for match in _LETTER.finditer(stated)}
        if found and _EITHER.search(stated):
            return None
        letters |= found
    return letters.pop() if len(letters) == 1 else None
