"""Which tokens of a tree train in which of its rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.collect.search import Node, Tree, by_group, tree_of
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
        own = np.arange(count) >= (request.given if request.parent else 0)
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
        right = [i for i in order if rows[i].episode.right]
        left |= set([*right[:1], *(i for i in order if i not in right[:1])][group_size:])
    return [row.mark(in_loss=False, in_denominator=False) if i in left else row for i, row in enumerate(rows)]


@dataclass(frozen=True)
class BackedUp(Part):
    """Keep the answers of a search that were backed up, each token with the value of its step (DeepSearch).

    Values on the way are bounded, tanh(V / temperature); that of the last step is the outcome.
    """

    temperature: float = 1.0


def backed_up(rows: Sequence[Row], memory: Memory, *, group_size: int, temperature: float) -> list[Row]:
    """`process` of the rows that were backed up; all others are out."""
    values: dict[str, np.ndarray] = {}
    for members in by_group([row.episode for row in rows]):
        tree = tree_of(members, group_size)
        for leaf in tree.backed:
            assert leaf.episode is not None
            values[leaf.episode.request.id] = _values(leaf, tree, temperature)
    return [
        row.mark(process=values[row.episode.request.id])
        if row.episode.request.id in values
        else row.mark(in_loss=False, in_group=False, in_denominator=False)
        for row in rows
    ]


def _values(leaf: Node, tree: Tree, temperature: float) -> np.ndarray:
    assert leaf.episode is not None
    steps = [tree.by_name.get(segment.node, leaf) for segment in leaf.episode.segments]
    found = [step.value if step is leaf else math.tanh(step.value / temperature) for step in steps]
    return np.repeat(np.array(found), [len(segment) for segment in leaf.episode.segments]).astype(np.float32)
