"""Curation: which rows train. Rows are marked, never deleted: out of the loss, out of the statistics of their group,
and out of the denominator are three different things.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.curate.grouping import Measure, groups, measure, spread
from assay.part import Curator
from assay.types import Row


def leave_out(rows: Sequence[Row], out: set[int], *, denominator: bool = False) -> list[Row]:
    """Marks these rows out of the loss and the group statistics, and by default out of the denominator too.

    What waited for a later step waits no more.
    """
    return [
        row.mark(in_loss=False, in_group=False, in_denominator=denominator, wait=None) if i in out else row
        for i, row in enumerate(rows)
    ]


def alive_groups(rows: Sequence[Row]) -> list[list[int]]:
    """The groups of this step that have a row in the loss, in the order of their draws."""
    found = groups(rows).values()
    return [members for members in found if any(rows[i].in_loss and not rows[i].waited for i in members)]


def mixed_groups(rows: Sequence[Row], *, num_prompts: int, by: Measure) -> list[Row]:
    """A group that was asked for one answer is kept; one that errors of ours shrank to a single answer is not.

    Judged on raw accuracy: a shaped reward varies where nothing was learnt.
    """
    out: set[int] = set()
    for members in groups(rows).values():
        valid = [i for i in members if rows[i].in_group]
        if len(members) > 1 and not spread([measure(rows[i], by) for i in valid]):
            out.update(members)
    return leave_out(rows, out)


@dataclass(frozen=True)
class MixedGroups(Curator):
    """Keep the groups that are neither all alike right nor all alike wrong (DAPO's dynamic sampling)."""

    by: Measure = "accuracy"  # what has to differ within a group
    does = mixed_groups


def statistics_only(rows: Sequence[Row], *, tag: str) -> list[Row]:
    def others(row: Row) -> bool:
        return (row.tag or row.episode.request.tag) != tag

    return [row if others(row) else row.mark(in_loss=False, in_denominator=False) for row in rows]


@dataclass(frozen=True)
class StatisticsOnly(Curator):
    """Rows with this tag count in the statistics of their group alone: they do not train and leave the denominator."""

    formerly = ("aside",)

    tag: str = "probe"
    does = statistics_only


def first_groups(rows: Sequence[Row], *, num_prompts: int) -> list[Row]:
    alive = alive_groups(rows)
    return leave_out(rows, {i for members in alive[num_prompts:] for i in members})


@dataclass(frozen=True)
class FirstGroups(Curator):
    """Keep the first `num_prompts` groups that still have a row in the loss, in the order of their draws.

    Groups that waited since an earlier step were counted by whoever set them aside.
    """

    does = first_groups


def within(rows: Sequence[Row], low: float, high: float) -> bool:
    right = [measure(row, "accuracy") for row in rows if row.in_group]
    return bool(right) and low <= sum(right) / len(right) <= high


def band_first(rows: Sequence[Row], *, num_prompts: int, low: float, high: float, cut: bool) -> list[Row]:
    """A group without a row in the loss is no group to keep, and one that waited was kept before."""

    def second(members: Sequence[int]) -> bool:
        whole = cut or all(rows[i].episode.finish != "length" for i in members)
        return not (whole and within([rows[i] for i in members], low, high))

    return leave_out(rows, {i for members in sorted(alive_groups(rows), key=second)[num_prompts:] for i in members})


@dataclass(frozen=True)
class BandFirst(Curator):
    """Keep `num_prompts` groups: those within the band first, then the others, either in the order of their draws."""

    low: float = 0.2  # share of right answers from which on a group is within the band
    high: float = 0.8  # and up to which it is
    cut: bool = False  # whether a group with an answer that the limit cut may be within it
    does = band_first
