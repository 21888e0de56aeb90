"""The leaves of a tree that train."""

from __future__ import annotations

from collections.abc import Sequence

from assay.memory import Memory
from assay.part import Curator
from assay.types import Row


def draw_leaves(rows: Sequence[Row], memory: Memory, *, group_size: int) -> list[Row]:
    """Keeps one random right leaf, and random other leaves."""
    groups: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        if row.in_loss:
            groups.setdefault(row.group, []).append(i)
    left: set[int] = set()
    for name, members in groups.items():
        order = memory.key("leaves", memory.step, name).generator().permutation(members).tolist()
        right = [i for i in order if rows[i].episode.right]
        left |= set([*right[:1], *(i for i in order if i not in right[:1])][group_size:])
    return [row.mark(in_loss=False, in_denominator=False) if i in left else row for i, row in enumerate(rows)]


class DrawLeaves(Curator):
    """As many leaves of a tree train as a group has rows, including a right one if there is any (TreeRL).

    The other leaves stay in the statistics of the group, so that values are those of the whole tree.

        curate=(DrawLeaves(),)
        --mechanism.curate draw-leaves
    """

    does = draw_leaves
    needs_verdict = True
