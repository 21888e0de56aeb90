"""Groups whose pass rate lies in a band."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.grouping import groups
from assay.curate.parts import leave_out, within
from assay.part import Curator
from assay.types import Row


def band(rows: Sequence[Row], *, low: float, high: float) -> list[Row]:
    """Leaves out groups unless low <= pass rate <= high, over the answers with a verdict."""
    out: set[int] = set()
    for members in groups(rows).values():
        if not within([rows[i] for i in members], low, high):
            out.update(members)
    return leave_out(rows, out)


class Band(Curator):
    """Trains on groups with a pass rate from `low` to `high`, both included: neither hopeless nor mastered.

    curate=(Band(low=0.05),)
    --mechanism.curate band --mechanism.curate.0.low 0.05
    """

    low: float = 0.05
    high: float = 0.95
    does = band
