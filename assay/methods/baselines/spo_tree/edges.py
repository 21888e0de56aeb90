"""The edges of a tree of answers: which of them train, and what each of them adds to the value of its place."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.credit.pack import earned
from assay.credit.pieces import pieces
from assay.memory import Memory
from assay.part import Count, Credit, Curator
from assay.types import Row, by_group

Leaves = tuple[int, ...]
"""The leaves that share an edge: the rows of the group that have its tokens. No other edge of the tree has the same."""


@dataclass(frozen=True)
class Edge:
    """Tokens [start, end) of an answer, and what their edge adds: V(where it ends) - V(where it begins).

    An edge goes from a place where answers branch to the next such place. Replies of an environment interrupt it.
    """

    start: int
    end: int
    leaves: Leaves
    worth: float


def edges(rows: Sequence[Row]) -> list[list[Edge]]:
    """For each row of a group, the edges on its way. V = reward of a leaf, else the mean of V over the branches."""
    paths = pieces(rows)
    root = tuple(range(len(rows)))
    ways = [list(dict.fromkeys([root, *(piece.leaves for piece in path)])) for path in paths]
    below: dict[Leaves, dict[Leaves | int, None]] = {}
    for i, way in enumerate(ways):
        for place, following in zip(way, [*way[1:], i], strict=True):
            below.setdefault(place, {})[following] = None
    values: dict[Leaves, float] = {}

    def value(place: Leaves | int) -> float:
        if isinstance(place, int):
            return earned(rows[place])
        if place not in values:
            values[place] = float(np.mean([value(following) for following in below[place]]))
        return values[place]

    result = []
    for path, way in zip(paths, ways, strict=True):
        worth = {place: value(place) - value(before) for before, place in itertools.pairwise(way)}
        result.append([Edge(p.start, p.end, p.leaves, worth.get(p.leaves, 0.0)) for p in path])
    return result


def edge_values(rows: Sequence[Row]) -> list[Row]:
    """A_t = V(end) - V(beginning) of the edge of token t."""
    result = list(rows)
    for group in by_group(rows).values():
        for i, path in zip(group.places, edges(group.members), strict=True):
            advantage = np.zeros(len(rows[i].episode))
            for edge in path:
                advantage[edge.start : edge.end] = edge.worth
            result[i] = rows[i].mark(advantage=advantage)
    return result


class EdgeValues(Credit):
    """A = V(child) - V(parent) for the tokens between two places where answers branch; V is the mean of the values of
    the branches, and of a leaf its reward (SPO-tree 2505.23564).

        credit=EdgeValues()
        --mechanism.credit edge-values
    """

    does = edge_values
    compares = True


def train_edges(rows: Sequence[Row], memory: Memory, *, most: int) -> list[Row]:
    """The edges that add something are drawn at random: `most` of each group keep their tokens. A shared edge keeps
    them in the first row alone.
    """
    result = list(rows)
    for name, group in by_group(rows).items():
        judged = [i for i in group.places if rows[i].in_group and rows[i].reward is not None]
        holder: dict[Leaves, tuple[int, list[Edge]]] = {}
        for i, path in zip(judged, edges([rows[i] for i in judged]), strict=True):
            for edge in path:
                row, own = holder.setdefault(edge.leaves, (i, []))
                own += [edge] if row == i and abs(edge.worth) > 1e-9 else []
        useful = [(i, own) for i, own in holder.values() if own]
        order = memory.key("edges", memory.step, name).generator().permutation(len(useful)).tolist()
        keep = {i: np.zeros(len(rows[i].episode), bool) for i in judged}
        for i, edge in ((i, edge) for i, own in (useful[at] for at in order[:most]) for edge in own):
            keep[i][edge.start : edge.end] = True
        for i, own in keep.items():
            before = rows[i].keep
            result[i] = rows[i].mark(keep=own if before is None else own & before)
    return result


class Edges(Curator):
    """The edges of a tree of answers train, not the answers. An edge that several answers share trains once. An edge
    that adds nothing to the value of its place never trains; of the others, `most` of each group train (SPO-tree
    2505.23564).

        curate=(Edges(most=32),)
        --mechanism.curate edges --mechanism.curate.0.most 32
    """

    writes = ("rows",)

    most: Count = 32  # edges of a group that train in a step
    does = train_edges
