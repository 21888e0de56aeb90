"""Questions whose answers stand in pages alone: a path from one name to another, read fact by fact.

The universe behind the pages has two facts of each of its 20,000 members (`assay/worlds/search/universe.py`). A small
letter is a fact that stands on the page of where one is. A capital leads backwards, to the page that names where one
is, and only a search finds that. `search` has pages in sentences, and is for language models. `search-small` says the
same in a few characters, so that a model of a million parameters learns it.
"""

from __future__ import annotations

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.search_posed import is_true, posing, walked
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict
from assay.worlds import World
from assay.worlds.search import SHORT, TOLD, called, made, opened, searching, universe

_MAX_CHARACTERS = 40
_WAYS = {
    "b": "the town where {} was born",
    "t": "the teacher of {}",
    "m": "the mayor of {}",
    "n": "the town to which the road from {} to the north leads",
    "a": "the author of {}",
    "s": "the town in which {} is set",
    "f": "the founder of {}",
    "h": "the town where {} has its headquarters",
    "A": "the work that was written by {}",
    "F": "the company that was founded by {}",
    "S": "the work that is set in {}",
    "H": "the company whose headquarters are in {}",
}
_ALONE = "Give the name alone in \\boxed{...}."
_ASKED = {"A": "written by {}", "F": "founded by {}", "S": "set in {}", "H": "headquarters {}"}


def walk(generator: np.random.Generator, level: int) -> Spec:
    """A path that comes nowhere twice. One of several facts needs a search, and one an opened page."""
    known = universe()
    while True:
        path, ways = [int(generator.random() * len(known.names))], ""
        while len(ways) < level and (here := known.ways(path[-1])):
            ways += here[int(generator.random() * len(here))]
            path.append(int(known.facts[ways[-1]][path[-1]]))
        mixed = level == 1 or not (ways.isupper() or ways.islower())
        if len(ways) == level and mixed and len(set(path)) == len(path):
            return {"start": known.names[path[0]], "ways": ways, "answer": known.names[path[-1]]}


def _canonical(spec: Spec) -> str:
    return spec.get("question") or f"{spec['start']} {spec['ways']}"


def worked_calls(spec: Spec, *, short: bool) -> list[tuple[str, str]]:
    """What a worked solution calls: for each fact a page that is opened, or a search; nothing for a question that a
    policy posed and that nobody knows to be true.
    """
    known, manner = universe(), SHORT if short else TOLD
    calls = []
    path = walked(spec["start"], spec["ways"]) if is_true(spec) else None
    for number, way in zip(path or (), spec["ways"]):
        name = known.names[number]
        asked = f"{way.lower()} {name}" if short else _ASKED.get(way, "").format(name)
        calls.append((manner.search, asked) if way.isupper() else (manner.open, name))
    return calls


def question_of(spec: Spec) -> str:
    if "question" in spec:
        return spec["question"]
    asked = spec["start"]
    for way in spec["ways"]:
        asked = _WAYS[way].format(asked) if way in _WAYS else f"'{way}' of {asked}"
    return f"What is the name of {asked}?"


def _natural(spec: Spec, world: World) -> str:
    about = "" if world.speech is None else world.speech.about(world.tools)
    return f"{question_of(spec)} It stands in pages that you can search and open.\n{about}\n{_ALONE}"


def _check(spec: Spec, text: str) -> Verdict:
    answer = text.strip() if len(text) <= _MAX_CHARACTERS else ""
    if not (answer.isascii() and answer.isalpha()):
        return Verdict.fail("format", "expected one name")
    return Verdict.ok(answer) if answer == spec["answer"] else Verdict.fail("wrong", answer=answer)


def _search(name: str, *, short: bool, summary: str, mark: str, base: tuple[OwnBase, ...] = ()) -> Task:
    world = searching(lambda: opened(made("short" if short else "told")), SHORT if short else TOLD)

    def solve(spec: Spec) -> Solution:
        return Solution(spec["answer"], called(world, spec, worked_calls(spec, short=short)))

    return Task(
        name=name,
        domain="tools",
        summary=summary,
        generator=Generator(levels=range(1, 5), first=2, instance=walk, canonical=_canonical),
        wordings=Wordings(
            compact=lambda spec: f"{mark} {_canonical(spec)}",
            natural=lambda spec: _natural(spec, world),
            solve=solve,
        ),
        checker=Checker(check=_check),
        abilities=(
            *posing(
                "short" if short else "told",
                mark,
                {"start": "Dakif", "ways": "bS", "answer": "Reger"},
                question_of,
            ),
            *base,
        ),
        world=world,
    )


SEARCH = _search(
    "search",
    short=False,
    summary="Find a name by searching and opening pages in English; the level is the number of facts on the way.",
    mark="find",
)
SEARCH_SMALL = _search(
    "search-small",
    short=True,
    summary="Find a name by searching and opening pages of a few characters; the level is the number of facts.",
    mark="l",
    base=(OwnBase("two facts from pages that it searches", levels=(1, 2), num_steps=190, context=256),),
)
