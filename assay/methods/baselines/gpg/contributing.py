"""A factor that makes up for the groups whose advantages are all 0."""

from __future__ import annotations

from collections.abc import Sequence

from assay.credit.pack import earned
from assay.curate.grouping import spread
from assay.part import Shape
from assay.types import Row, by_group


def contributing(rows: Sequence[Row]) -> list[Row]:
    """A <- A B / (B - M); advantages stay as they are if no group contributes."""
    alive = [len(g.members) for g in by_group(rows).values() if spread([earned(row) for row in g.members])]
    factor = len(rows) / (sum(alive) or len(rows))
    return [row if row.advantage is None else row.mark(advantage=factor * row.advantage) for row in rows]


class Contributing(Shape):
    """A <- A B / (B - M), where M of the B rows are in groups of equal rewards, whose advantages are 0 (GPG
    2504.02546).

        shape=(Contributing(),)
        --mechanism.shape contributing
    """

    does = contributing
