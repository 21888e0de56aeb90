"""Groups whose pass rate lies in a band."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import leave_out, within
from assay.part import Curator
from assay.types import Row, by_group


def band(rows: Sequence[Row], *, low: float, high: float) -> list[Row]:
    """Leaves out groups unless low <= pass rate <= high, over the answers with a verdict."""
    out: set[int] = set()
    for group in by_group(rows).values():
        if not within(group.members, low, high):
            out.update(group.places)
    return leave_out(rows, out)


class Band(Curator):
    """Trains on groups with a pass rate from `low` to `high`, both included: neither hopeless nor mastered.

    curate=(Band(low=0.05),)
    --mechanism.curate band --mechanism.curate.0.low 0.05
    """

    low: float = 0.05
    high: float = 0.95
    does = band
