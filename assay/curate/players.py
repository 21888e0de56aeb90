"""Curation by role: which role's rows train."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import leave_out
from assay.part import Curator
from assay.types import Row

HELPFUL = "helpful"


def untrained(rows: Sequence[Row], *, role: str, but: Sequence[str]) -> list[Row]:
    """Marks the rows of this role out of the loss, the group statistics and the denominator, but for these tasks."""
    found = {i for i, row in enumerate(rows) if row.role == role and row.episode.request.problem.task not in but}
    return leave_out(rows, found)


class Untrained(Curator):
    """The rows of one role do not train: the role only writes for others to read. Its answers to some tasks may train.

    curate=(Untrained(role="abstraction"),)
    --mechanism.curate untrained --mechanism.curate.0.role abstraction
    """

    role: str = "abstraction"
    but: tuple[str, ...] = ()  # tasks on which the role trains all the same
    does = untrained
