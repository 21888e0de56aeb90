"""Rows by what the verdicts of their group were, or their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.curate.parts import leave_out
from assay.errors import ConfigError
from assay.grouping import groups, measure
from assay.part import Part
from assay.types import Row


@dataclass(frozen=True)
class SolvedGroups(Part):
    """Keep the groups in which an answer is right, those without a mistake too; drop those that are all wrong."""


def solved_groups(rows: Sequence[Row]) -> list[Row]:
    out: set[int] = set()
    for members in groups(rows).values():
        if not any(measure(rows[i], "accuracy") for i in members if rows[i].in_group):
            out.update(members)
    return leave_out(rows, out)


@dataclass(frozen=True)
class UnsolvedGroups(Part):
    """Keep the groups in which an answer is wrong, those without a success too; drop those that are all right."""


def unsolved_groups(rows: Sequence[Row]) -> list[Row]:
    out: set[int] = set()
    for members in groups(rows).values():
        if all(measure(rows[i], "accuracy") for i in members if rows[i].in_group):
            out.update(members)
    return leave_out(rows, out)


@dataclass(frozen=True)
class OneSided(Part):
    """Keep the right answers alone, or the wrong ones; the others leave the denominator too."""

    keep: Literal["right", "wrong"] = "right"


def one_sided(rows: Sequence[Row], *, keep: str) -> list[Row]:
    if keep not in ("right", "wrong"):
        raise ConfigError(f"curate.keep is 'right' or 'wrong', not '{keep}'.")
    return leave_out(rows, {i for i, row in enumerate(rows) if row.episode.right != (keep == "right")})
