"""Whose a store is. It belongs to one part of `remember`, and whoever reads it means that part, not a string.

A part is known by its kind, what it is called and which of several such it is in its mechanism. The same part of
another stage is the same part: stages that keep the memory share its store. Names in checkpoints are given here, none
of them twice.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.part import Curator, Part, Remembering

OURS = ("pass-rates", "rows", "stage")  # of the loop itself
NOWHERE = ""  # where nobody keeps anything


class Named:
    """A part that keeps, or reads, the store of the name that a person gives it."""

    name: str

    @property
    def called(self) -> str:
        return self.name


@dataclass(frozen=True)
class Keeper:
    """A part of `remember` and the place of its store."""

    part: Remembering
    place: str


def keepers(mechanisms: Iterable[Sequence[Remembering]]) -> list[list[Keeper]]:
    """The parts of each `remember` with their places; NOWHERE for parts that keep nothing."""
    places: dict[tuple[type[Part], str, int], str] = {}
    found = []
    for parts in mechanisms:
        seen: Counter[tuple[type[Part], str]] = Counter()
        found.append([])
        for part in parts:
            seen[type(part), part.called] += 1
            known = (type(part), part.called, seen[type(part), part.called])
            if known not in places and part.keeps:
                places[known] = _free(part.called or part.keeps, {*OURS, *places.values()})
            found[-1].append(Keeper(part, places.get(known, NOWHERE)))
    return found


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where it is taken."""
    names = itertools.chain([name], (f"{name}#{number}" for number in itertools.count(2)))
    return next(free for free in names if free not in taken)


def place_for(reader: Part, keepers: Iterable[Keeper]) -> str:
    """Where that is kept which a part reads; NOWHERE if no part keeps it."""
    found = {keeper.place: keeper.part for keeper in keepers if _means(reader, keeper.part)}
    if len(found) > 1:
        several = " and ".join(f"{type(part).__name__} (store '{place}')" for place, part in found.items())
        raise ConfigError(
            f"{type(reader).__name__} reads what one part keeps, and `remember` has {several}: leave one of "
            "them out, or give each another name, and the reader the name of the one that it means."
        )
    return next(iter(found), NOWHERE)


def _means(reader: Part, keeper: Remembering) -> bool:
    return type(keeper) in reader.reads and keeper.keeps_for(reader)


def contradiction(curators: Sequence[Curator], remember: Sequence[Remembering]) -> str:
    """Why these parts of one mechanism cannot set rows aside together; '' if they can."""
    aside = [part for part in curators if part.sets_aside]
    for place, part in enumerate(curators):
        behind = [other for other in curators[place + 1 :] if other.sets_aside and part.writes]
        if behind:
            one, other = type(part).__name__, type(behind[0]).__name__
            return (
                f"{other} sets rows aside, which come back without what {one} wrote on them. Put {one} behind {other} "
                "in `curate`, or leave one of them out."
            )
    for keeper in remember:
        served = [part.called for part in aside if _means(part, keeper)]
        if len(served) > 1:
            return (
                f"{type(keeper).__name__} keeps the rows that one part sets aside, and {' and '.join(served)} are in "
                f"`curate`. Leave one of them out, or give each a {type(keeper).__name__} of its own: of={served[0]}."
            )
    return ""
