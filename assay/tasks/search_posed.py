"""Questions that a policy poses over the pages of a search: what it is shown, and which texts are questions.

Whether a question has its answer in the pages is not said here: nobody checks that but whoever reads them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from assay.tasks.given import Pages
from assay.tasks.pose import Posing
from assay.tasks.task import Spec
from assay.worlds.search import made, universe
from assay.worlds.search.universe import NOBODY

_PATH = re.compile(r"([A-Z][a-z]{1,11}) ([A-Za-z]{1,4})")
_LENGTHS, _FEWEST_WORDS = range(10, 1001), 10  # of a question in words, in characters


@functools.cache
def number_of(name: str) -> int | None:
    """The number of a member of the universe; None if nobody has the name."""
    names = universe().names
    return names.index(name) if name in names else None


def walked(start: str, ways: str) -> list[int] | None:
    """The numbers on a path; None if it leads nowhere."""
    known, number = universe(), number_of(start)
    if number is None:
        return None
    path = [number]
    for way in ways:
        if way not in known.ways(path[-1]):
            return None
        path.append(int(known.facts[way][path[-1]]))
    return None if NOBODY in path else path


def is_true(spec: Spec) -> bool:
    """Whether the path of a question leads to its answer. Nobody knows that of a question in words."""
    path = None if "question" in spec else walked(spec["start"], spec["ways"])
    return path is not None and universe().names[path[-1]] == spec["answer"]


def _seen(spec: Spec) -> list[int]:
    """The pages from which a question was posed, or of the path that it asks for."""
    return spec["seen"] if "seen" in spec else walked(spec["start"], spec["ways"]) or []


def _read(text: str, shown: Sequence[Spec]) -> Spec | None:
    """The question in a text: a name and the letters of a path, or ten words or more that do not say the answer."""
    given, text = shown[0], text.strip()
    about = {"answer": given["answer"], "seen": _seen(given)}
    if (path := _PATH.fullmatch(text)) is not None:
        start, ways = path.groups()
        return None if start == given["answer"] else {"start": start, "ways": ways, **about}
    if len(text) not in _LENGTHS or len(text.split()) < _FEWEST_WORDS or given["answer"].lower() in text.lower():
        return None
    return {"start": "", "ways": "", "question": " ".join(text.split()), **about}


def _through(spec: Spec) -> str:
    """The names on the way to the answer."""
    path = walked(spec["start"], spec["ways"]) if is_true(spec) else None
    return "".join(f"{universe().names[number]} " for number in (path or [])[:-1])


def posing(
    kind: Literal["short", "told"], mark: str, seed: Spec, question: Callable[[Spec], str]
) -> tuple[Posing, Pages]:
    """How questions over the pages of this kind are posed, and answered with the pages in view."""
    texts = _texts(kind)

    def pages_of(spec: Spec) -> list[str]:
        return [texts()[number] for number in _seen(spec)]

    def compact(shown: Sequence[Spec]) -> str:
        return ";".join([*pages_of(shown[0]), f"{mark}? {shown[0]['answer']}"])

    def natural(shown: Sequence[Spec]) -> str:
        told = "\n\n".join(pages_of(shown[0]))
        return (
            f"Here are some pages:\n\n{told}\n\nWrite a question of at least {_FEWEST_WORDS} words whose only answer "
            f"is {shown[0]['answer']}. The answer must follow from these pages and must not stand in the question. "
            "Somebody who has only a search over many pages should find it hard. Give the question alone in "
            "\\boxed{...}."
        )

    def others(generator: np.random.Generator, count: int) -> list[str]:
        return [texts()[int(i)] for i in generator.integers(len(texts()), size=count)]

    def write(spec: Spec) -> str:
        if kind == "told":
            asked = question(spec)
            return f"According to these pages, {asked[:1].lower()}{asked[1:]}"
        return f"{spec['start']} {spec['ways']}"

    posed = Posing(
        seed=seed,
        shown=1,
        compact=compact,
        natural=natural,
        write=write,
        read=_read,
        level=lambda spec: len(spec["ways"]) or 1,
        example=lambda generator, level, shown: shown[0],
    )
    return posed, Pages(of=pages_of, others=others, question=question, through=_through)


def _texts(kind: Literal["short", "told"]) -> Callable[[], tuple[str, ...]]:
    @functools.cache
    def texts() -> tuple[str, ...]:
        between = " " if kind == "short" else "\n"
        return tuple(page.title + between + page.text for page in made(kind).pages())

    return texts
