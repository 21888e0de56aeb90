"""Short questions about English words, and what is held out of them: for models that have read much and answer little.

The kinds of questions are the levels. There are some six hundred questions in all, and a word is asked in one split
alone: of each eight in a list five are for training, one is for validation and two are for tests. The two words of a
pair of opposites are in one split, and each split has as many things of every kind. An answer is verified as it is
said, without a mark, and must name one candidate (`assay.tasks.said`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from assay.tasks.said import names_one, words_of
from assay.tasks.task import Checker, Generator, Solution, Spec, Split, Task, Wordings
from assay.tasks.vocabulary import CAPITAL, KIND, NAMES, OPPOSITE, PAST, PLURAL, Questions
from assay.types import Verdict

EIGHT: tuple[Split, ...] = ("train",) * 5 + ("valid",) + ("test",) * 2
"""The splits of eight questions that follow each other in a list."""
DENIALS = frozenset(["no", "not", "nor", "neither", "never", "none", "t"])  # with the rest of "isn't"


class Kind(NamedTuple):
    """Questions of one kind: `Kind("past", "What is the past tense of {}?", PAST)`."""

    name: str
    asks: str
    questions: Questions
    together: int = 1  # as many questions that follow each other are in one split


KINDS: Mapping[int, Kind] = dict(
    enumerate(
        (
            Kind("capital", "What is the capital of {}?", CAPITAL),
            Kind("plural", 'What is the plural of the word "{}"?', PLURAL),
            Kind("opposite", 'What is the opposite of the word "{}"?', OPPOSITE, together=2),
            Kind("past", 'What is the past tense of the verb "{}"?', PAST),
            Kind("kind", 'What kind of thing is named by the word "{}"?', KIND),
        ),
        1,
    )
)
"""Level -> the questions of this level."""
_LISTED = {level: tuple(kind.questions) for level, kind in KINDS.items()}
_LEVEL_OF = {kind.name: level for level, kind in KINDS.items()}


def _kind(spec: Spec) -> Kind:
    return KINDS[_LEVEL_OF[spec["kind"]]]


def _instance(generator: np.random.Generator, level: int) -> Spec:
    listed = _LISTED[level]
    return {"kind": KINDS[level].name, "word": listed[int(generator.integers(len(listed)))]}


def _split(spec: Spec) -> Split:
    kind = _kind(spec)
    place = _LISTED[_LEVEL_OF[kind.name]].index(spec["word"])
    return EIGHT[place // kind.together % len(EIGHT)]


def _canonical(spec: Spec) -> str:
    return f"{spec['kind']} {spec['word']}"


def _natural(spec: Spec) -> str:
    return _kind(spec).asks.format(spec["word"])


def _solve(spec: Spec) -> Solution:
    return Solution(_kind(spec).questions[spec["word"]][0])


def _check(spec: Spec, text: str) -> Verdict:
    words = words_of(text)
    if words is None:
        return Verdict.fail("format", "long, or in other characters than English has")
    if spec["kind"] == "kind":
        return _check_kind(spec, words)
    accepted = _kind(spec).questions[spec["word"]]
    found = names_one(text, accepted, aside=words_of(spec["word"]) or ())
    return Verdict.fail("wrong") if found is None else Verdict.ok(found)


def _check_kind(spec: Spec, words: list[str]) -> Verdict:
    """The kind may have words beside it ("a freshwater fish"), but no other kind may be named, and nothing denied."""
    named = {NAMES[word] for word in words if word in NAMES and word != spec["word"]}
    if DENIALS & set(words) or named != {*KIND[spec["word"]]}:
        return Verdict.fail("wrong", f"kinds that are named: {', '.join(sorted(named)) or 'none'}")
    return Verdict.ok(*named)


WORDS = Task(
    name="words",
    domain="language",
    summary="A question about a word; levels: 1 the capital of a country, 2 a plural, 3 an opposite, 4 a past tense, "
    "5 what kind of thing it names.",
    generator=Generator(levels=range(1, 6), instance=_instance, canonical=_canonical, split=_split),
    wordings=Wordings(
        compact=lambda spec: f"w {_canonical(spec)}",
        natural=_natural,
        solve=_solve,
        manner="Answer with the result only.",
        unmarked=True,
    ),
    checker=Checker(check=_check),
)
