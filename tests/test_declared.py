"""What parts say that they read and write: all of it is known, and what cannot stand together is found."""

from __future__ import annotations

from assay.curate import leave_out
from assay.known import PARTS
from assay.part import PLACES, Curator, Part
from assay.part_checks import CLASHES, clash
from assay.streams import Stream


def test_every_place_is_known_and_said_by_a_part() -> None:
    said = {thing for kind in PARTS.values() for part in kind.values() for thing in (*part.reads, *part.writes)}
    assert {thing for thing in said if isinstance(thing, str)} == set(PLACES)


def test_a_constant_that_is_read_is_written_by_a_part() -> None:
    parts = [part for kind in PARTS.values() for part in kind.values()]
    written = {thing for part in parts for thing in part.writes if isinstance(thing, Stream)}
    assert {thing for part in parts for thing in part.reads if isinstance(thing, Stream)} <= written


def test_clashes_are_found_in_their_order_alone() -> None:
    """By parts that declare nothing else: two kinds of order for each clash, one of them refused."""

    def declaring(verb: str, place: str) -> Part:
        return type("Declaring", (Curator,), {verb: (place,), "does": staticmethod(leave_out)})()

    for one in CLASHES:
        first, then = declaring(*one.earlier), declaring(*one.later)
        assert "declaring" in clash((first, then)) and clash((then, first)) == "" == clash((first, first))
