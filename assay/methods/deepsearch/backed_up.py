"""The values that search backed up, on the tokens of the nodes that they belong to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.memory import Memory
from assay.methods.deepsearch.search import Node, Tree, by_group, tree_of
from assay.part import Curator
from assay.types import Row


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


@dataclass(frozen=True)
class BackedUp(Curator):
    """Keep the answers of a search that were backed up, each token with the value of its step (DeepSearch).

    Values on the way are bounded, tanh(V / temperature); that of the last step is the outcome.
    """

    writes = True

    temperature: float = 1.0
    does = backed_up


def _values(leaf: Node, tree: Tree, temperature: float) -> np.ndarray:
    assert leaf.episode is not None
    steps = [tree.by_name.get(segment.node, leaf) for segment in leaf.episode.segments]
    found = [step.value if step is leaf else math.tanh(step.value / temperature) for step in steps]
    return np.repeat(np.array(found), [len(segment) for segment in leaf.episode.segments]).astype(np.float32)
