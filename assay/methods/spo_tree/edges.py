"""The edges of a tree of answers: which of them train, and what each of them adds to the value of its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.credit.pieces import Piece, pieces
from assay.curate.grouping import groups
from assay.memory import Memory
from assay.part import Credit, Curator, scales_with
from assay.types import Row

Place = tuple[int, tuple[int, ...]]
"""The first token of a piece and the leaves that share it, which no other piece of the tree has both of."""


@dataclass(frozen=True)
class Edge:
    """Tokens [start, end) of an answer, and what they add: V(where they end) - V(where they begin)."""

    start: int
    end: int
    place: Place
    worth: float


def edges(rows: Sequence[Row]) -> list[list[Edge]]:
    """For each row of a group, the edges on its way. V = reward of a leaf, else the mean of V over the branches."""
    paths = pieces(rows)
    values: dict[Place, float] = {}
    below: dict[Place, dict[Place | int, None]] = {}
    for i, path in enumerate(paths):
        places: list[Place] = [(0, ()), *map(_place, path)]
        for place, following in zip(places, [*places[1:], i], strict=True):
            below.setdefault(place, {})[following] = None

    def value(place: Place | int) -> float:
        if isinstance(place, int):
            return rows[place].reward or 0.0
        if place not in values:
            values[place] = float(np.mean([value(following) for following in below[place]]))
        return values[place]

    result = []
    for path in paths:
        ends = [value(place) for place in ((0, ()), *map(_place, path))]
        told = zip(path, ends[1:], ends, strict=False)
        result.append([Edge(piece.start, piece.end, _place(piece), after - before) for piece, after, before in told])
    return result


def _place(piece: Piece) -> Place:
    return piece.start, piece.leaves


def edge_values(rows: Sequence[Row]) -> list[Row]:
    """A_t = V(end) - V(beginning) of the edge of token t."""
    result = list(rows)
    for members in groups(rows).values():
        for i, path in zip(members, edges([rows[i] for i in members]), strict=True):
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
    """Of each group `most` edges that add something keep their tokens, drawn at random. A shared edge keeps them in the
    first row alone.
    """
    result = list(rows)
    for name, members in groups(rows).items():
        judged = [i for i in members if rows[i].in_group and rows[i].reward is not None]
        holder: dict[Place, tuple[int, Edge]] = {}
        for i, path in zip(judged, edges([rows[i] for i in judged]), strict=True):
            for edge in path:
                if abs(edge.worth) > 1e-9:
                    holder.setdefault(edge.place, (i, edge))
        order = memory.key("edges", memory.step, name).generator().permutation(len(holder)).tolist()
        keep = {i: np.zeros(len(rows[i].episode), bool) for i in judged}
        found = list(holder.values())
        for i, edge in (found[at] for at in order[:most]):
            keep[i][edge.start : edge.end] = True
        for i, own in keep.items():
            before = rows[i].keep
            result[i] = rows[i].mark(keep=own if before is None else own & before)
    return result


class Edges(Curator):
    """The edges of a tree of answers train, not the answers: what several answers share trains once, what adds nothing
    to the value of its place never, and of the others so many of each group (SPO-tree 2505.23564).

        curate=(Edges(most=32),)
        --mechanism.curate edges --mechanism.curate.0.most 32
    """

    writes = True

    most: int = scales_with("group_size", 32, at=216)  # edges of a group that train in a step
    does = train_edges

    def refusal(self, **_: Any) -> str | None:
        return None if self.most >= 1 else f"edges: most must be at least 1, not {self.most}. With 1 little trains."
