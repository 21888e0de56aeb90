"""Which groups train, by how much their answers agree with each other. Nobody needs to know which are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.curate.grouping import groups
from assay.curate.parts import alive_groups, leave_out
from assay.part import Curator, Proportion
from assay.types import Row
from assay.verifiers.elections import answer_of, spread_of, top_share

MEASURES = {"share": top_share, "entropy": spread_of}


def agreed(rows: Sequence[Row], *, by: str, low: float, high: float, role: str) -> list[Row]:
    """Leaves out every group of the role whose measure is not between `low` and `high`. Answers out of the group
    statistics do not vote.
    """
    out: set[int] = set()
    for members in groups(rows).values():
        votes = [answer_of(rows[i].episode) for i in members if rows[i].in_group]
        asked = not role or rows[members[0]].role == role
        if asked and not (votes and low <= MEASURES[by](votes) <= high):
            out.update(members)
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


def most_agreed(rows: Sequence[Row], *, share: float) -> list[Row]:
    """Leaves out all but the share of the groups, at least one: those with the largest majorities, of equal ones
    the first.
    """
    alive = alive_groups(rows)
    size = {i: top_share([answer_of(rows[j].episode) for j in members]) for i, members in enumerate(alive)}
    kept = sorted(size, key=lambda i: (-size[i], i))[: max(1, round(share * len(alive)))]
    return leave_out(rows, {j for i, members in enumerate(alive) if i not in kept for j in members})


class MostAgreed(Curator):
    """Keeps a share of the groups of a step: those in which the most frequent answer is given most often. They are the
    easiest for all that is known without labels (SRT 2505.21444).

        curate=(MostAgreed(share=0.33),)
        --mechanism.curate most-agreed --mechanism.curate.0.share 0.33
    """

    share: Proportion = 1.0  # of the groups of a step
    does = most_agreed
