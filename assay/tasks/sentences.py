"""Write a sentence with given words, verified by rules that are exact: `sentence` is won by repeating the words.

A policy that is rewarded by the rules of `sentence` learns to write "The music, island, and table are music, island,
and table." The rules of `sentence-strict` refuse this: each given word stands once, they are not one list, and there
are as many other words that say something. Under both names, an answer that keeps the rules of `sentence` has the
scores `repeats`, 1 if it repeats a given word and else 0, and `others`, the number of its distinct other words.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence

import numpy as np

from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

MOST = 400  # characters of a sentence
_POOL = (
    "apple baby ball beach bell bird boat bottle bread bridge brother candle carpet castle chair cheese child "
    "city clock cloud coat coffee corn dinner doctor dog door dream farm field fire flower forest friend garden "
    "girl glass grass hat hill honey horse house island jacket journey kitchen ladder lake lamp lion market "
    "money moon mountain music neighbor night ocean park pencil pillow planet potato queen rabbit rain river road "
    "rope school shirt shoe snow soup spoon star stone storm street sugar summer sun table teacher train "
    "tree uncle village wagon water window winter wolf"
)
POOL = _POOL.split()
_FUNCTION = (
    "a an the and or but nor so yet of in on at to from by with for as into onto over under about is are was were "
    "be been being am has have had do does did it its he she they we you i his her their our my your this that "
    "these those not no also both all there then"
)
FUNCTION = frozenset(_FUNCTION.split())
"""Words that say little by themselves. A list of the given words needs no others beside them."""
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_SENTENCE = re.compile(r"[\"\u201c(]?[A-Z][^.!?\n]*[.!?][\"\u201d)]?")
_GOLD = (
    "Someone drew the",
    "near the",
    "after they painted the",
    "while others noticed the",
    "because nobody mentioned the",
)


def _instance(generator: np.random.Generator, level: int) -> Spec:
    return {"words": [POOL[int(i)] for i in generator.permutation(len(POOL))[:level]]}


def _canonical(spec: Spec) -> str:
    return " ".join(sorted(spec["words"]))


def _natural(spec: Spec) -> str:
    return f"Write one sentence that uses these words: {', '.join(spec['words'])}."


def _solve(spec: Spec) -> Solution:
    return Solution(" ".join(f"{before} {word}" for before, word in zip(_GOLD, spec["words"], strict=False)) + ".")


def said(text: str) -> list[str]:
    """The words of a sentence in small letters; a hyphen or an apostrophe within a word belongs to it."""
    return _WORD.findall(text.lower())


def is_sentence(text: str) -> bool:
    """Whether a text is one sentence: a capital at the beginning, and the only mark that ends sentences at its end."""
    return len(text) <= MOST and _SENTENCE.fullmatch(text) is not None


def repeats(given: Sequence[str], words: Sequence[str]) -> bool:
    return any(words.count(word) > 1 for word in given)


def others(given: Sequence[str], words: Sequence[str]) -> int:
    """The number of distinct words that were not given."""
    return len({*words} - {*given})


def is_listed(given: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the given words are one list: from the first of them to the last, all others are words of FUNCTION.

    is_listed(["music", "table"], "the music and the table are here".split())  # True
    """
    places = [i for i, word in enumerate(words) if word in given]
    return not {*words[places[0] : places[-1]]} - {*given} - FUNCTION if places else False


def is_plain(spec: Spec, text: str) -> bool:
    """The rules of `sentence`: one sentence that has all the given words."""
    return is_sentence(text) and {*spec["words"]} <= {*said(text)}


def is_strict(spec: Spec, text: str) -> bool:
    """The rules of `sentence-strict`: the given words once each, not as one list, and as many words that tell more."""
    given, words = spec["words"], said(text)
    telling = {*words} - {*given} - FUNCTION
    return (
        is_plain(spec, text)
        and not repeats(given, words)
        and not is_listed(given, words)
        and len(telling) >= len(given)
    )


def _checked(spec: Spec, text: str, keeps: Callable[[Spec, str], bool]) -> Verdict:
    verdict = Verdict.ok(text) if keeps(spec, text) else Verdict.fail("wrong" if is_sentence(text) else "format")
    if not is_plain(spec, text):
        return verdict
    given, words = spec["words"], said(text)
    counts = {"repeats": float(repeats(given, words)), "others": float(others(given, words))}
    return dataclasses.replace(verdict, scores=counts)


def _task(name: str, tag: str, rules: str, keeps: Callable[[Spec, str], bool], first: int) -> Task:
    return Task(
        name=name,
        domain="language",
        summary=f"Write a sentence with given words, {rules}; the level is the number of words.",
        generator=Generator(levels=range(2, 6), first=first, instance=_instance, canonical=_canonical),
        wordings=Wordings(
            compact=lambda spec: f"{tag} {' '.join(spec['words'])}",
            natural=_natural,
            solve=_solve,
            manner="Answer with the sentence only.",
            unmarked=True,
        ),
        checker=Checker(check=lambda spec, text: _checked(spec, text, keeps)),
    )


SENTENCE = _task("sentence", "d", "anywhere in it", is_plain, 3)
SENTENCE_STRICT = _task("sentence-strict", "e", "once each and not as one list", is_strict, 2)
