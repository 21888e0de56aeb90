"""Answers that only probe how hard a problem is do not train."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.curate.parts import leave_out
from assay.part import Curator
from assay.types import Row


def without_tag(rows: Sequence[Row], *, tag: str) -> list[Row]:
    return leave_out(rows, {i for i, row in enumerate(rows) if (row.tag or row.episode.request.tag) == tag})


@dataclass(frozen=True)
class WithoutTag(Curator):
    """Rows with this tag were asked for something else than training."""

    tag: str = "probe"
    does = without_tag
