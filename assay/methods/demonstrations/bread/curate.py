"""The choice of the group that trains, of all groups of one problem."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import leave_out
from assay.methods.demonstrations.bread.anchors import base_of
from assay.part import Curator
from assay.types import Group, Row, by_group


def on_anchor(rows: Sequence[Row], *, low: float, high: float) -> list[Row]:
    """Leaves out all groups of a problem but one; a problem that was solved from its question has only that group."""
    sets: dict[str, dict[str, Group[Row]]] = {}
    for name, group in by_group(rows).items():
        sets.setdefault(base_of(name), {})[name] = group
    out: set[int] = set()
    for found in sets.values():
        if len(found) == 1:
            continue
        share = {name: _share(group.members) for name, group in found.items()}
        fitting = [n for n, value in share.items() if low <= value <= high] or [n for n, v in share.items() if v > 0]
        chosen = min(fitting, key=lambda n: found[n].members[0].episode.request.given, default="")
        out.update(i for n, group in found.items() if n != chosen for i in group.places)
    return leave_out(rows, out)


class OnAnchor(Curator):
    """Of the groups of a problem, begun at the question or with a prefix, one trains: the one with a pass rate in
    [low, high].

    If none lies in the band, the group with the shortest prefix and any success trains; if all failed, none does.

        curate=(OnAnchor(low=0.25),)
        --mechanism.curate on-anchor --mechanism.curate.0.low 0.25
    """

    low: float = 0.25  # the lowest pass rate of the band
    high: float = 0.75  # the highest pass rate of the band
    does = on_anchor
    needs_verdict = True


def _share(rows: Sequence[Row]) -> float:
    right = [row.right for row in rows if row.in_group]
    return sum(right) / max(1, len(right))
