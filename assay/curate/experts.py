"""Who learns from a group that the policy answered, and who from its demonstration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.curate.parts import leave_out
from assay.grouping import groups, measure
from assay.part import Part
from assay.types import Row


@dataclass(frozen=True)
class SwitchToExpert(Part):
    """A group with at most `most` right answers learns from its demonstration alone, any other from its own answers.

    Demonstrations are imitated, not compared: they are in no group's statistics and in no denominator but that of the
    term that imitates them (HPT 2509.04419).
    """

    most: int = 0


def switch_to_expert(rows: Sequence[Row], *, most: int) -> list[Row]:
    result = list(rows)
    for members in groups(rows).values():
        shown = [i for i in members if rows[i].episode.provenance == "teacher"]
        own = [i for i in members if i not in shown]
        right = sum(measure(rows[i], "accuracy") > 0 for i in own if rows[i].in_group)
        judged = any(rows[i].in_group for i in own)
        imitates = bool(shown) and judged and right <= most
        for i in own if imitates else ():
            result[i] = rows[i].mark(in_loss=False, in_group=False, in_denominator=False)
        for i in shown:
            result[i] = rows[i].mark(in_loss=imitates, in_group=False, in_denominator=False)
    return result


@dataclass(frozen=True)
class Nobody(Part):
    """What was written is judged and remembered, and nobody learns from it now."""


def nobody(rows: Sequence[Row]) -> list[Row]:
    return leave_out(rows, set(range(len(rows))))
