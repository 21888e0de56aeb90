"""A small universe of people, towns, works and companies. Each has two facts, and each fact names another of them.

Everything is drawn, so that no model can know it. A name may happen to be a word; what is said of it is not known.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.rng import Key

VERSION = 1
"""Of the universe and of its pages: an index of another version is not read."""

COUNTS = {"person": 12_000, "town": 3_000, "work": 3_000, "company": 2_000}
RELATIONS = {"person": "bt", "town": "mn", "work": "as", "company": "fh"}
"""Kind -> its two facts. A person was born in a town (b) and taught by a person (t). A town has a mayor (m), and a
town to the north (n). A work has an author (a) and is set in a town (s). A company has a founder (f) and a home (h).
"""
BACKWARDS = {"person": "AF", "town": "SH", "work": "", "company": ""}
"""Kind -> facts of another that name it, and of one alone: `A` leads from a person to the work whose author they are.
Nothing on the page of the person tells of it, so that it takes a search.
"""
CONSONANTS, VOWELS = "bdfghjklmnprstvxz", "aeiou"
NOBODY = -1


@dataclass(frozen=True)
class Universe:
    """Who there is, by number, and their facts."""

    names: Sequence[str]
    facts: Mapping[str, np.ndarray]  # letter -> [number] whom the fact names; NOBODY where it is not known

    def kind(self, number: int) -> str:
        first = 0
        for kind, count in COUNTS.items():
            first += count
            if number < first:
                return kind
        raise IndexError(f"there are {first} in the universe, and no number {number}")

    def ways(self, number: int) -> str:
        """The letters of all facts that lead from here to another."""
        kind = self.kind(number)
        return "".join(way for way in RELATIONS[kind] + BACKWARDS[kind] if self.facts[way][number] != NOBODY)

    def follow(self, number: int, ways: str) -> list[int]:
        """The numbers on a path, the start first."""
        path = [number]
        for way in ways:
            path.append(int(self.facts[way][path[-1]]))
        return path


@functools.cache
def universe(seed: int = 0) -> Universe:
    """The universe of a seed. It is drawn anew in every process, in some hundredths of a second."""
    random = Key(seed)("search").generator()
    total = sum(COUNTS.values())
    places = dict(zip(COUNTS, np.cumsum([0, *COUNTS.values()]).tolist()))
    uniform = lambda count, many: (random.random(count) * many).astype(np.int64)  # noqa: E731
    drawn = lambda kind, count: _order(random, COUNTS[kind])[:count] + places[kind]  # noqa: E731
    another = lambda count: (np.arange(count) + 1 + uniform(count, count - 1)) % count  # noqa: E731
    names = [_name(code) for code in _order(random, len(CONSONANTS) ** 3 * len(VOWELS) ** 2)[:total].tolist()]
    drawn_facts = {
        "b": places["town"] + uniform(COUNTS["person"], COUNTS["town"]),
        "t": another(COUNTS["person"]),
        "m": uniform(COUNTS["town"], COUNTS["person"]),
        "n": places["town"] + another(COUNTS["town"]),
        "a": drawn("person", COUNTS["work"]),
        "s": drawn("town", COUNTS["work"]),
        "f": drawn("person", COUNTS["company"]),
        "h": drawn("town", COUNTS["company"]),
    }
    facts = {}
    for kind, ways in RELATIONS.items():
        for way in ways:
            facts[way] = np.full(total, NOBODY)
            facts[way][places[kind] : places[kind] + COUNTS[kind]] = drawn_facts[way]
    for way in "".join(BACKWARDS.values()):
        knows = np.flatnonzero(facts[way.lower()] != NOBODY)
        facts[way] = np.full(total, NOBODY)
        facts[way][facts[way.lower()][knows]] = knows
    return Universe(names, facts)


def _order(random: np.random.Generator, count: int) -> np.ndarray:
    """The numbers below `count` in an order by chance."""
    return np.argsort(random.random(count), kind="stable")


def _name(code: int) -> str:
    """The name of a number: consonants and vowels in turn, five letters."""
    letters = []
    for place in range(5):
        alphabet = VOWELS if place % 2 else CONSONANTS
        code, letter = divmod(code, len(alphabet))
        letters.append(alphabet[letter])
    return "".join(letters).capitalize()
