"""What parts say that they read and write is what they do: places of rows, of answers and of prompts."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tiny
import worked
from composed import mechanism_of, recipe, train_with_dice
from sweeps import over

from assay.curate import leave_out
from assay.known import PARTS, SLOTS
from assay.part import PLACES, Curator, Part
from assay.part_checks import CLASHES, clash
from assay.streams import Stream
from assay.types import Row

MARKS = {"in_loss", "in_group", "in_denominator", "wait"}  # `wait` is where a row that is set aside waits


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.register(monkeypatch)
    worked.register(monkeypatch)


def test_every_place_is_known_and_said_by_a_part() -> None:
    said = {thing for kind in PARTS.values() for part in kind.values() for thing in (*part.reads, *part.writes)}
    assert {thing for thing in said if isinstance(thing, str)} == set(PLACES)


def test_a_constant_that_is_read_is_written_by_a_part() -> None:
    parts = [part for kind in PARTS.values() for part in kind.values()]
    written = {thing for part in parts for thing in part.writes if isinstance(thing, Stream)}
    assert {thing for part in parts for thing in part.reads if isinstance(thing, Stream)} <= written


def pairs(before: Sequence[Row], after: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Each row as it was and as it is, of those that are in both; rows that came are new."""
    known = {(row.group, row.episode.request.id): row for row in before}
    keys = [(row.group, row.episode.request.id) for row in after]
    return [(known[key], row) for key, row in zip(keys, after, strict=True) if key in known]


def changed(before: Sequence[Row], after: Sequence[Row]) -> set[str]:
    """The fields of rows in which these differ."""
    names = [field.name for field in dataclasses.fields(Row)]
    return {
        name
        for one, then in pairs(before, after)
        for name in names
        if not _equal(getattr(one, name), getattr(then, name))
    }


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is other or (one is not None and other is not None and np.array_equal(one, other))
    return one is other or one == other


def done(name: str) -> set[str]:
    """What the curator of this name changes in a run with it: fields of rows, and `group` if an answer that it leaves
    in the loss counts in no group any more.
    """
    kind, found = SLOTS["curate"][name], set[str]()
    does = kind.does

    @functools.wraps(does)
    def watched(rows: Sequence[Row], *args: Any, **more: Any) -> Any:
        made = does(rows, *args, **more)
        after = made[0] if isinstance(made, tuple) else made
        found.update(changed(rows, after))
        left = [then for one, then in pairs(rows, after) if one.in_group and then.in_loss]
        found.update("group" for then in left if not then.in_group)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "does", staticmethod(watched))
        train_with_dice(recipe(mechanism_of(("curate", name))))
    return found


@pytest.mark.slow
@over(SLOTS["curate"])
def test_what_a_curator_does_to_rows_it_has_declared(name: str) -> None:
    wrote, said = done(name), SLOTS["curate"][name].writes
    assert ("rows" in said) or not wrote - MARKS - {"group"}, f"it writes {sorted(wrote - MARKS)}"
    assert ("aside" in said) or "wait" not in wrote, "it sets rows aside"
    assert ("group" in said) or "group" not in wrote, "it takes answers of the loss out of their groups"


def test_clashes_are_found_in_their_order_alone() -> None:
    """By parts that declare nothing else: two kinds of order for each clash, one of them refused."""

    def declaring(verb: str, place: str) -> Part:
        return type("Declaring", (Curator,), {verb: (place,), "does": staticmethod(leave_out)})()

    for one in CLASHES:
        first, then = declaring(*one.earlier), declaring(*one.later)
        assert "Declaring" in clash((first, then)) and clash((then, first)) == "" == clash((first, first))
