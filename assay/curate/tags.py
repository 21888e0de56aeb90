"""Answers that only measure how hard a problem is do not train."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import leave_out
from assay.part import Curator
from assay.types import Row


def without_tag(rows: Sequence[Row], *, tag: str) -> list[Row]:
    """Leaves out the rows with this tag."""
    return leave_out(rows, {i for i, row in enumerate(rows) if (row.tag or row.episode.request.tag) == tag})


class WithoutTag(Curator):
    """Rows whose request has this tag do not train: they were sampled to measure something.

    curate=(WithoutTag(tag="probe"),)
    --mechanism.curate without-tag --mechanism.curate.0.tag probe
    """

    tag: str = "probe"
    does = without_tag
