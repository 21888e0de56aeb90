"""Curation by role: which role's rows train."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import leave_out
from assay.part import Curator
from assay.types import Row

HELPFUL = "helpful"


def untrained(rows: Sequence[Row], *, role: str) -> list[Row]:
    """Marks the rows of this role out of the loss, the group statistics and the denominator."""
    return leave_out(rows, {i for i, row in enumerate(rows) if row.role == role})


class Untrained(Curator):
    """The rows of one role do not train: the role only writes for others to read.

    curate=(Untrained(role="abstraction"),)
    --mechanism.curate untrained --mechanism.curate.0.role abstraction
    """

    role: str = "abstraction"
    does = untrained
