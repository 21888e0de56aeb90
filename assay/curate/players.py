"""Which rows of which player train."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.curate.parts import leave_out
from assay.part import Curator
from assay.types import Row

HELPFUL = "helpful"


def untrained(rows: Sequence[Row], *, role: str) -> list[Row]:
    return leave_out(rows, {i for i, row in enumerate(rows) if row.role == role})


@dataclass(frozen=True)
class Untrained(Curator):
    """Rows of a role are there for others only."""

    role: str = "abstraction"
    does = untrained
