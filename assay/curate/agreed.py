"""Which groups train, by how much their answers agree with each other. Nobody needs to know which are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.curate.parts import leave_out
from assay.part import Curator
from assay.types import Row, by_group
from assay.verifiers.elections import answer_of, spread_of, top_share

MEASURES = {"share": top_share, "entropy": spread_of}


def agreed(rows: Sequence[Row], *, by: str, low: float, high: float, role: str) -> list[Row]:
    """Leaves out every group of the role whose measure is not between `low` and `high`. Answers out of the group
    statistics do not vote.
    """
    out: set[int] = set()
    for group in by_group(rows).values():
        votes = [answer_of(row.episode) for row in group.members if row.in_group]
        asked = not role or group.members[0].role == role
        if asked and not (votes and low <= MEASURES[by](votes) <= high):
            out.update(group.places)
    return leave_out(rows, out)


class Agreed(Curator):
    """Keeps the groups whose answers agree neither too little nor too much, by the share of the most frequent answer or
    by the entropy of the answers (in nats; at most the logarithm of the size of the group).

        curate=(Agreed(low=0.3, high=0.8),)
        --mechanism.curate agreed --mechanism.curate.0.low 0.3 --mechanism.curate.0.high 0.8
    """

    by: Literal["share", "entropy"] = "share"
    low: float = 0.0
    high: float = 1.0
    role: str = ""  # the groups of this role alone are looked at; "": all groups
    does = agreed
