"""The twenty-five kinds of instruction of IFEval (2311.07911), as checks of a text.

A rule is an id and its arguments, ["length_constraints:number_words", {"num_words": 300, "relation": "at least"}], as
rows of IFEval have them in `instruction_id_list` and `kwargs`. The checks follow the paper, and its release where the
paper leaves a choice: keywords are looked for within words, forbidden words are whole ones, words are runs of letters,
digits and underscores, paragraphs stand between `***`, and highlights, placeholders and sections are at least so many.
Three things differ: keywords are plain text and no patterns, sentences are those of `assay.verifiers.counts`, and
the language is found by `assay.verifiers.languages`. All checks take a time that grows with the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.verifiers.counts import is_json, sentences
from assay.verifiers.languages import LANGUAGES, is_english, language_of

Arguments = Mapping[str, Any]
RELATIONS = ("less than", "at least")
ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")

_WORD = re.compile(r"\w+")
_STARS = re.compile(r"\s?\*\*\*\s?")
_PLACEHOLDER = re.compile(r"\[[^\[\]\n]*\]")
_TITLE = re.compile(r"<<([^\n<>]+)>>")
_HIGHLIGHT = re.compile(r"\*\*([^*\n]+)\*\*|\*([^*\n]+)\*")
_BULLET = re.compile(r"[^\S\n]*(?:\*[^*\n]|-)")
_FENCE = re.compile(r"\s*```(?:json|JSON|Json)?(?P<inner>.*?)```\s*", re.DOTALL)
_QUOTES = "\"'“”‘’"
_AROUND = re.compile(r"^\W+|\W+$")


def _compared(count: int, wanted: int, relation: str) -> bool:
    return count < wanted if relation == "less than" else count >= wanted


def _folded(text: str, part: str) -> int:
    return text.casefold().count(part.casefold())


def _whole_word(text: str, word: str) -> bool:
    """Whether a text has a word that is no part of a longer one, in whatever case."""
    text, word = text.casefold(), word.casefold()
    begin = text.find(word)
    while begin >= 0:
        end = begin + len(word)
        if not (_joins(text[begin - 1 : begin], word[:1]) or _joins(word[-1:], text[end : end + 1])):
            return True
        begin = text.find(word, begin + 1)
    return False


def _joins(left: str, right: str) -> bool:
    """Whether two characters belong to one word."""
    return bool(_WORD.fullmatch(left) and _WORD.fullmatch(right))


def _starred(text: str) -> list[str] | None:
    """The paragraphs between `***`; None if one within the text is empty."""
    parts = [part.strip() for part in _STARS.split(text)]
    inner = parts[1:-1]
    return None if not all(inner) else [part for part in parts if part]


def _paragraphs(text: str, arguments: Arguments) -> bool:
    parts = _starred(text)
    return parts is not None and len(parts) == arguments["num_paragraphs"]


def _first_word(text: str, arguments: Arguments) -> bool:
    """The word that a paragraph begins with. Paragraphs stand between empty lines here."""
    parts = [part.strip() for part in text.split("\n\n")]
    parts = [part for part in parts if part]
    if len(parts) != arguments["num_paragraphs"]:
        return False
    word = parts[arguments["nth_paragraph"] - 1].split()[0].lstrip(_QUOTES)
    return re.split(r"[.,?!'\"]", word)[0].casefold() == arguments["first_word"].casefold()


def _postscript(text: str, arguments: Arguments) -> bool:
    """A line, or a part of one, that begins with the marker. Spaces between its letters do not count."""
    letters = "".join(arguments["postscript_marker"].split())
    return re.search(r"(?<!\w)" + r"\s?".join(map(re.escape, letters)), text, re.IGNORECASE) is not None


def _bullets(text: str, arguments: Arguments) -> bool:
    return sum(bool(_BULLET.match(line)) for line in text.splitlines()) == arguments["num_bullets"]


def _highlights(text: str, arguments: Arguments) -> bool:
    parts = (one or other for one, other in _HIGHLIGHT.findall(text))
    return sum(bool(part.strip()) for part in parts) >= arguments["num_highlights"]


def _sections(text: str, arguments: Arguments) -> bool:
    numbered = re.findall(rf"{re.escape(arguments['section_spliter'].strip())}\s?\d+", text)
    return len(numbered) >= arguments["num_sections"]


def _json(text: str, arguments: Arguments) -> bool:
    fenced = _FENCE.fullmatch(text)
    return is_json(text if fenced is None else fenced["inner"])


def _two_responses(text: str, arguments: Arguments) -> bool:
    """Two answers, which differ, with six stars between them. Stars at the beginning or the end part nothing."""
    parts = [part.strip() for part in text.split("******")]
    if not all(parts[1:-1]):
        return False
    parts = [part for part in parts if part]
    return len(parts) == 2 and parts[0] != parts[1]


def _repeats(text: str, arguments: Arguments) -> bool:
    return text.strip().casefold().startswith(arguments["prompt_to_repeat"].strip().casefold())


def _capital_words(text: str, arguments: Arguments) -> bool:
    words = (_AROUND.sub("", word) for word in text.split())
    count = sum(word.isupper() for word in words)
    return _compared(count, arguments["capital_frequency"], arguments["capital_relation"])


def _ends(text: str, arguments: Arguments) -> bool:
    return text.strip().strip('"').casefold().endswith(arguments["end_phrase"].strip().casefold())


def _quoted(text: str, arguments: Arguments) -> bool:
    text = text.strip()
    return len(text) > 1 and text[0] == text[-1] == '"'


@dataclass(frozen=True)
class InstructionType:
    """A kind of instruction: the kinds of its arguments by name, and the check of a text."""

    arguments: Mapping[str, str]  # name -> count, text, texts, letter, relation or language
    check: Callable[[str, Arguments], bool]


def _of(check: Callable[[str, Arguments], bool], **arguments: str) -> InstructionType:
    return InstructionType(arguments, check)


TYPES: Mapping[str, InstructionType] = {
    "keywords:existence": _of(lambda text, a: all(_folded(text, word) for word in a["keywords"]), keywords="texts"),
    "keywords:frequency": _of(
        lambda text, a: _compared(_folded(text, a["keyword"]), a["frequency"], a["relation"]),
        keyword="text",
        frequency="count",
        relation="relation",
    ),
    "keywords:forbidden_words": _of(
        lambda text, a: not any(_whole_word(text, word) for word in a["forbidden_words"]), forbidden_words="texts"
    ),
    "keywords:letter_frequency": _of(
        lambda text, a: _compared(_folded(text, a["letter"]), a["let_frequency"], a["let_relation"]),
        letter="letter",
        let_frequency="count",
        let_relation="relation",
    ),
    "language:response_language": _of(lambda text, a: language_of(text) == a["language"], language="language"),
    "length_constraints:number_sentences": _of(
        lambda text, a: _compared(sentences(text), a["num_sentences"], a["relation"]),
        num_sentences="count",
        relation="relation",
    ),
    "length_constraints:number_paragraphs": _of(_paragraphs, num_paragraphs="count"),
    "length_constraints:number_words": _of(
        lambda text, a: _compared(len(_WORD.findall(text)), a["num_words"], a["relation"]),
        num_words="count",
        relation="relation",
    ),
    "length_constraints:nth_paragraph_first_word": _of(
        _first_word, num_paragraphs="count", nth_paragraph="count", first_word="text"
    ),
    "detectable_content:postscript": _of(_postscript, postscript_marker="text"),
    "detectable_content:number_placeholders": _of(
        lambda text, a: len(_PLACEHOLDER.findall(text)) >= a["num_placeholders"], num_placeholders="count"
    ),
    "detectable_format:number_bullet_lists": _of(_bullets, num_bullets="count"),
    "detectable_format:title": _of(lambda text, a: any(title.strip() for title in _TITLE.findall(text))),
    "detectable_format:constrained_response": _of(lambda text, a: any(answer in text for answer in ANSWERS)),
    "detectable_format:number_highlighted_sections": _of(_highlights, num_highlights="count"),
    "detectable_format:multiple_sections": _of(_sections, section_spliter="text", num_sections="count"),
    "detectable_format:json_format": _of(_json),
    "combination:repeat_prompt": _of(_repeats, prompt_to_repeat="text"),
    "combination:two_responses": _of(_two_responses),
    "change_case:english_capital": _of(lambda text, a: text.isupper() and is_english(text)),
    "change_case:english_lowercase": _of(lambda text, a: text.islower() and is_english(text)),
    "change_case:capital_word_frequency": _of(_capital_words, capital_frequency="count", capital_relation="relation"),
    "startend:end_checker": _of(_ends, end_phrase="text"),
    "startend:quotation": _of(_quoted),
    "punctuation:no_comma": _of(lambda text, a: "," not in text),
}
"""The id of a kind -> what it is."""

_SAID: Mapping[str, str] = {
    "count": "a whole number of at least 0",
    "text": "a text",
    "texts": "a list of texts",
    "letter": "one character",
    "relation": f"one of {', '.join(map(repr, RELATIONS))}",
    "language": f"one of {', '.join(LANGUAGES)}",
}


def _is(kind: str, value: Any) -> bool:
    if kind == "count":
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if kind == "texts":
        return isinstance(value, list) and bool(value) and all(isinstance(one, str) and one.strip() for one in value)
    if not isinstance(value, str) or not value.strip():
        return False
    choices = {"relation": RELATIONS, "language": LANGUAGES}
    return value in choices[kind] if kind in choices else kind != "letter" or len(value) == 1


def plain_arguments(given: Any) -> Any:
    """The arguments of a row without those that are null, as tables with one column for each have them; whole numbers
    that a table has kept as 3.0 are whole again.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return given
    whole = {name: int(v) if isinstance(v, float) and v.is_integer() else v for name, v in given.items()}
    return {name: value for name, value in whole.items() if value is not None}


def fault_of_type(name: Any, arguments: Any) -> str | None:
    """Why an id and its arguments are no instruction; None if they are one."""
    if name not in TYPES:
        return f"{str(name)[:80]!r} is none of the kinds of IFEval: {', '.join(TYPES)}"
    if not isinstance(arguments, Mapping):
        return f"the arguments of '{name}' are an object, not {str(arguments)[:80]}"
    kinds = TYPES[name].arguments
    if strange := sorted(map(str, arguments.keys() - kinds.keys())):
        return f"'{name}' has no argument '{strange[0]}'; it has {', '.join(kinds) or 'none'}"
    for argument, kind in kinds.items():
        if not _is(kind, arguments.get(argument)):
            given = json.dumps(arguments[argument])[:80] if argument in arguments else "nothing"
            return f"'{argument}' of '{name}' is {_SAID[kind]}, not {given}"
    if name.endswith("nth_paragraph_first_word") and not 1 <= arguments["nth_paragraph"] <= arguments["num_paragraphs"]:
        return f"'nth_paragraph' of '{name}' is from 1 to 'num_paragraphs', not {arguments['nth_paragraph']}"
    return None


def follows(name: str, arguments: Arguments, text: str) -> bool:
    """Whether a text that is not empty follows an instruction, by its words as they are (the strict criterion).

    follows("punctuation:no_comma", {}, "no comma")  # True
    """
    return TYPES[name].check(text, arguments)


def variants(text: str) -> tuple[str, ...]:
    """The texts of which one must follow an instruction by the loose criterion: the text itself, and what is left
    without its first line, its last, or both, each also without the stars of markdown.
    """
    lines = text.split("\n")
    cut = (text, *("\n".join(lines[part]).strip() for part in (slice(1, None), slice(None, -1), slice(1, -1))))
    return tuple(dict.fromkeys((*cut, *(one.replace("*", "") for one in cut))))
