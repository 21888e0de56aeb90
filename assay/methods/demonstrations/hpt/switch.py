"""The choice between a group's own answers and its demonstration."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Curator
from assay.types import Row, by_group


def switch_to_expert(rows: Sequence[Row], *, most: int) -> list[Row]:
    """Leaves out either the answers or the demonstration of each group. A group that waits for a later step is judged
    when it returns; rows that were out of the loss already stay out.
    """
    result = list(rows)
    for group in by_group(rows).values():
        if any(row.wait for row in group.members):
            continue
        shown = [i for i in group.places if rows[i].episode.provenance == "teacher"]
        own = [i for i in group.places if i not in shown]
        right = sum(rows[i].right for i in own if rows[i].in_group)
        judged = any(rows[i].in_group for i in own)
        imitates = bool(shown) and judged and right <= most
        for i in own if imitates else ():
            result[i] = rows[i].mark(in_loss=False, in_group=False, in_denominator=False)
        for i in shown:
            result[i] = rows[i].mark(in_loss=imitates and rows[i].in_loss, in_group=False, in_denominator=False)
    return result


class SwitchToExpert(Curator):
    """A group with at most `most` right answers trains on its demonstration alone, any other on its own answers.

    Demonstrations are imitated: they count neither in the statistics of the group nor in any denominator but that of
    the imitation term (HPT 2509.04419).

        curate=(SwitchToExpert(most=0),)
        --mechanism.curate switch-to-expert --mechanism.curate.0.most 0
    """

    writes = ("group",)

    most: int = 0
    does = switch_to_expert
    needs_verdict = True
