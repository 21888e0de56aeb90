"""The leaves of a tree that train."""

from __future__ import annotations

from collections.abc import Sequence

from assay.memory import Memory
from assay.part import Curator
from assay.types import Row, by_group


def draw_leaves(rows: Sequence[Row], memory: Memory, *, group_size: int) -> list[Row]:
    """Keeps one random right leaf, and random other leaves."""
    left: set[int] = set()
    for name, group in by_group(rows).items():
        members = [i for i in group.places if rows[i].in_loss]
        order = memory.key("leaves", memory.step, name).generator().permutation(members).tolist()
        right = [i for i in order if rows[i].right]
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
