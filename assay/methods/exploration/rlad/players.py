"""The abstractions and the answers that train."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from assay.ask.hints import holds_answer
from assay.curate.parts import leave_out
from assay.curate.players import HELPFUL
from assay.part import Curator
from assay.types import Row


def without_advantage(rows: Sequence[Row], *, tag: str) -> list[Row]:
    """Takes the rows with this tag out of their group's statistics, so that they get no advantage; they stay in loss
    and denominator.
    """
    return [row.mark(in_group=False) if (row.tag or row.episode.request.tag) == tag else row for row in rows]


class WithoutAdvantage(Curator):
    """Rows with this tag have no advantage and no part in a baseline; other terms of the loss, such as a KL penalty,
    stay.

        curate=(WithoutAdvantage(tag="bare"),)
        --mechanism.curate without-advantage --mechanism.curate.0.tag bare
    """

    writes = ("group",)

    formerly = ("unpaid",)

    tag: str = "bare"
    does = without_advantage


def helpful(rows: Sequence[Row], *, role: str, margin: float, least: int) -> list[Row]:
    """Keeps abstractions with: accuracy with it > accuracy without + margin, both over the answers of this step."""
    with_it: dict[str, list[bool]] = {}
    without: dict[int, list[bool]] = {}
    for row in rows:
        request = row.episode.request
        if row.verified:
            rights = with_it.setdefault(request.parent, []) if request.parent else without.setdefault(request.draw, [])
            rights.append(row.right)
    out, kept = set(), set()
    for i, row in enumerate(rows):
        request = row.episode.request
        if row.role != role:
            continue
        mine, base = with_it.get(request.id), without.get(request.draw)
        leaks = holds_answer(request.problem, row.episode.text, least=least)
        if not mine or not base or leaks or fmean(mine) <= fmean(base) + margin:
            out.add(i)
        else:
            kept.add(i)
    return [row.mark(tag=HELPFUL) if i in kept else row for i, row in enumerate(leave_out(rows, out))]


class Helpful(Curator):
    """Tags as `helpful`, and keeps, the abstractions with which more answers are right than without.

    An abstraction that contains the answer is left out.

        curate=(Helpful(least=3),)
        --stages.1.mechanism.curate helpful --stages.1.mechanism.curate.0.least 3
    """

    writes = ("rows",)

    role: str = "abstraction"  # the role that writes the abstractions
    margin: float = 0.0
    least: int = 3  # characters; a shorter answer may occur in the abstraction by chance
    does = helpful
    needs = ("texts",)
    needs_verdict = True
