"""Which tokens of a tree train in which of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.memory import Memory
from assay.part import Part
from assay.types import Row


@dataclass(frozen=True)
class OwnTokens(Part):
    """A row trains on the tokens that its own request sampled: what branches share is counted once, in its trunk."""


def own_tokens(rows: Sequence[Row], memory: object) -> list[Row]:
    """keep_t = 0 on the prefix of a branch."""
    result = []
    for row in rows:
        request, count = row.episode.request, len(row.episode)
        own = np.arange(count) >= (sum(len(s) for s in request.prefix) if request.parent else 0)
        result.append(row if own.all() else row.mark(keep=own if row.keep is None else own & row.keep))
    return result


@dataclass(frozen=True)
class DrawLeaves(Part):
    """Train on as many leaves of a group as a group has rows, a right one among them if there is any (TreeRL).

    The others stay in the statistics of the group: values are those of the whole tree.
    """


def draw_leaves(rows: Sequence[Row], memory: Memory, *, group_size: int) -> list[Row]:
    """One right leaf at random, and others at random."""
    groups: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        if row.in_loss:
            groups.setdefault(row.group, []).append(i)
    left: set[int] = set()
    for name, members in groups.items():
        order = memory.key("leaves", memory.step, name).generator().permutation(members).tolist()
        right = [i for i in order if (verdict := rows[i].episode.verdict) is not None and verdict.status == "ok"]
        left |= set([*right[:1], *(i for i in order if i not in right[:1])][group_size:])
    return [row.mark(in_loss=False, in_denominator=False) if i in left else row for i, row in enumerate(rows)]
