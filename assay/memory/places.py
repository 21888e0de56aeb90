"""Which store of the memory belongs to which part. Each store belongs to one part of `remember`; a part that reads the
store says so by the class of that part (`reads`), not by a string.

A part of `remember` is identified by its class, its name (`called`) and its number among equal ones of its mechanism.
The same part in another stage has the same store, if the stage keeps the memory. This module gives the stores their
names in checkpoints, no name twice.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.part import Curator, Part, Remembering

OURS = ("pass-rates", "rows", "stage")  # stores of the loop itself
NOWHERE = ""  # the place of a part that keeps nothing, or that reads a store which no part keeps


class Named:
    """Mixin for a part whose store has the name in the field `name`; several such parts may be in one recipe."""

    name: str

    @property
    def called(self) -> str:
        return self.name


@dataclass(frozen=True)
class Keeper:
    """A part of `remember` and the place of its store, which is the name of this store in the memory."""

    part: Remembering
    place: str


def keepers(mechanisms: Iterable[Sequence[Remembering]]) -> list[list[Keeper]]:
    """For each mechanism, the parts of its `remember` with the places of their stores."""
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
    """The name, with a number behind it if the name is taken."""
    names = itertools.chain([name], (f"{name}#{number}" for number in itertools.count(2)))
    return next(free for free in names if free not in taken)


def place_for(reader: Part, keepers: Iterable[Keeper]) -> str:
    """The place of the store that a part reads; NOWHERE if no part keeps such a store."""
    found = {keeper.place: keeper.part for keeper in keepers if _means(reader, keeper.part)}
    if len(found) > 1:
        several = " and ".join(f"{type(part).__name__} (store '{place}')" for place, part in found.items())
        raise ConfigError(
            f"{type(reader).__name__} reads the store of one part, and `remember` has {several}. Leave one of "
            f"them out, or give each another name, and {type(reader).__name__} the name of the one that it is to read."
        )
    return next(iter(found), NOWHERE)


def _means(reader: Part, keeper: Remembering) -> bool:
    """Whether the reader reads the store of this keeper."""
    return type(keeper) in reader.reads and keeper.keeps_for(reader)


def contradiction(curators: Sequence[Curator], remember: Sequence[Remembering]) -> str:
    """Why these parts of one mechanism cannot set rows aside together, and what to change; '' if they can."""
    aside = [part for part in curators if "aside" in part.writes]
    for keeper in remember:
        served = [part.called for part in aside if _means(part, keeper)]
        if len(served) > 1:
            return (
                f"{type(keeper).__name__} keeps the rows of one part that sets rows aside, and `curate` has "
                f"{' and '.join(served)}. Leave one of them out, or give each a {type(keeper).__name__} of its own: "
                f"of={served[0]}."
            )
    return ""
