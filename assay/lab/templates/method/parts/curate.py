"""Which rows train."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Curator
from assay.types import Row


def whole(rows: Sequence[Row]) -> list[Row]:
    """Answers that were cut at the limit leave the loss; they stay in the group and in the denominator."""
    return [row.mark(in_loss=row.in_loss and row.episode.finish != "length") for row in rows]


class MyMethod(Curator):
    """Fill in: which answers train (and the arXiv id). Here those that were not cut."""

    does = whole
