"""The mean over what contributes: a factor in place of drawing problems anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.credit.pack import earned
from assay.curate.grouping import groups, spread
from assay.part import Shape
from assay.types import Row


def contributing(rows: Sequence[Row]) -> list[Row]:
    """As they are where no group contributes."""
    alive = [len(m) for m in groups(rows).values() if spread([earned(rows[i]) for i in m])]
    factor = len(rows) / (sum(alive) or len(rows))
    return [row if row.advantage is None else row.mark(advantage=factor * row.advantage) for row in rows]


@dataclass(frozen=True)
class Contributing(Shape):
    """A <- A B / (B - M): of B rows M are in groups of equal rewards, which add nothing (GPG 2504.02546)."""

    does = contributing
