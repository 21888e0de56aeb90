"""The values that the search backed up, written to the tokens of their steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from assay.collect.nodes import Node, Tree
from assay.memory import Memory
from assay.methods.exploration.deepsearch.search import tree_of
from assay.part import Curator, Positive
from assay.types import Row, by_group


def backed_up(rows: Sequence[Row], memory: Memory, *, group_size: int, temperature: float) -> list[Row]:
    """Fills the `process` stream of the rows that were backed up, and leaves out all other rows."""
    values: dict[str, np.ndarray] = {}
    for group in by_group([row.episode for row in rows]).values():
        tree = tree_of(group.members, group_size)
        for leaf in tree.backed:
            assert leaf.episode is not None
            values[leaf.episode.request.id] = _values(leaf, tree, temperature)
    return [
        row.mark(process=values[row.episode.request.id])
        if row.episode.request.id in values
        else row.mark(in_loss=False, in_group=False, in_denominator=False)
        for row in rows
    ]


class BackedUp(Curator):
    """Only answers that the search backed up train, and each of their tokens gets the value of its step (DeepSearch
    2509.25454).

    Values of inner steps are bounded by tanh(V / temperature); the value of the last step is the outcome.

        curate=(BackedUp(temperature=1.0),)
        --mechanism.curate backed-up --mechanism.curate.0.temperature 1.0
    """

    writes = ("rows",)

    temperature: Positive = 1.0
    does = backed_up


def _values(leaf: Node, tree: Tree, temperature: float) -> np.ndarray:
    assert leaf.episode is not None
    steps = [tree.by_name.get(segment.node, leaf) for segment in leaf.episode.segments]
    found = [step.value if step is leaf else math.tanh(step.value / temperature) for step in steps]
    return np.repeat(np.array(found), [len(segment) for segment in leaf.episode.segments]).astype(np.float32)
