"""Curation: which rows train. Rows are marked, never deleted. The three marks are independent: a row can be out of the
loss, out of the statistics of its group (mean and standard deviation), and out of the denominator of the loss.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.grouping import Measure, measure, spread
from assay.part import Curator
from assay.types import Group, Problem, Row, by_group


def leave_out(rows: Sequence[Row], out: set[int], *, denominator: bool = False) -> list[Row]:
    """Marks the rows `out` as out of the loss and the group statistics, and by default out of the denominator too.

    If one of these rows was set aside for a later step, it is set aside no longer.
    """
    return [
        row.mark(in_loss=False, in_group=False, in_denominator=denominator, wait=None) if i in out else row
        for i, row in enumerate(rows)
    ]


def alive_groups(rows: Sequence[Row]) -> list[Group[Row]]:
    """The groups that have a row of this step in the loss, in the order of their draws."""
    return [g for g in by_group(rows).values() if any(row.in_loss and not row.waited for row in g.members)]


def mixed_groups(rows: Sequence[Row], *, num_prompts: int, by: Measure) -> list[Row]:
    """Leaves out every group whose answers all have the same measure.

    A group that has one answer by design is kept. A group in which verifier errors left only one valid answer is not.
    """
    out: set[int] = set()
    for group in by_group(rows).values():
        valid = [measure(row, by) for row in group.members if row.in_group]
        if len(group.members) > 1 and not spread(valid):
            out.update(group.places)
    return leave_out(rows, out)


class MixedGroups(Curator):
    """Keeps the groups that have both right and wrong answers (DAPO's dynamic sampling).

    The default measure is accuracy: a shaped reward also differs between answers that are all right.

        curate=(MixedGroups(by="accuracy"), FirstGroups())
        --mechanism.curate mixed-groups,first-groups --mechanism.curate.0.by accuracy
    """

    by: Measure = "accuracy"  # the measure that must differ within a group
    does = mixed_groups

    def reads_verdict(self, problem: Problem) -> bool:
        return self.by == "accuracy"


def statistics_only(rows: Sequence[Row], *, tag: str) -> list[Row]:
    """Marks the rows with this tag out of the loss and the denominator."""

    def others(row: Row) -> bool:
        return (row.tag or row.episode.request.tag) != tag

    return [row if others(row) else row.mark(in_loss=False, in_denominator=False) for row in rows]


class StatisticsOnly(Curator):
    """Rows with this tag do not train and are not in the denominator, but count in the statistics of their group.

    curate=(StatisticsOnly(tag="probe"),)
    --mechanism.curate statistics-only --mechanism.curate.0.tag probe
    """

    formerly = ("aside",)

    tag: str = "probe"  # of the row, else of its request
    does = statistics_only


def first_groups(rows: Sequence[Row], *, num_prompts: int) -> list[Row]:
    """Leaves out all groups with a row in the loss but the first `num_prompts`."""
    return leave_out(rows, {i for group in alive_groups(rows)[num_prompts:] for i in group.places})


class FirstGroups(Curator):
    """Keeps the first `num_prompts` groups that still have a row in the loss, in the order of their draws.

    Groups that were set aside in an earlier step do not count here: the part that set them aside limits their number.

        curate=(MixedGroups(), FirstGroups())
        --mechanism.curate mixed-groups,first-groups
    """

    does = first_groups


def within(rows: Sequence[Row], low: float, high: float) -> bool:
    """Whether the pass rate of these answers is from `low` to `high`."""
    right = [row.right for row in rows if row.in_group]
    return bool(right) and low <= sum(right) / len(right) <= high


def band_first(rows: Sequence[Row], *, num_prompts: int, low: float, high: float, cut: bool) -> list[Row]:
    """Leaves out all groups but `num_prompts`, those in the band first. Neither groups without a row in the loss nor
    groups set aside in an earlier step are counted.
    """

    def second(group: Group[Row]) -> bool:
        whole = cut or all(row.episode.finish != "length" for row in group.members)
        return not (whole and within(group.members, low, high))

    return leave_out(rows, {i for group in sorted(alive_groups(rows), key=second)[num_prompts:] for i in group.places})


class BandFirst(Curator):
    """Keeps `num_prompts` groups: first groups whose pass rate is in the band, then others, in the order of draws.

    curate=(BandFirst(low=0.2, high=0.8),)
    --mechanism.curate band-first --mechanism.curate.0.low 0.2 --mechanism.curate.0.high 0.8
    """

    low: float = 0.2  # the lowest pass rate in the band
    high: float = 0.8  # the highest pass rate in the band
    cut: bool = False  # whether a group with a truncated answer may be in the band
    does = band_first
    needs_verdict = True
