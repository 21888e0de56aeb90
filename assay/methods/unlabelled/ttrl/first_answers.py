"""More answers vote than train."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import leave_out
from assay.part import Count, Curator, scales_with
from assay.types import Row, by_group


def first_answers(rows: Sequence[Row], *, count: int) -> list[Row]:
    """Leaves out all rows of a group but its first `count`, in the order of their samples."""
    out: set[int] = set()
    for group in by_group(rows).values():
        out.update(sorted(group.places, key=lambda i: rows[i].episode.request.sample)[count:])
    return leave_out(rows, out)


class FirstAnswers(Curator):
    """The first answers of a group train; the others had a vote in its reward and do nothing more (TTRL 2504.16084).

    curate=(FirstAnswers(count=32),)
    --mechanism.curate first-answers --mechanism.curate.0.count 32
    """

    count: Count = scales_with("group_size", 32, at=64)  # the number of answers of a group that train
    does = first_answers
