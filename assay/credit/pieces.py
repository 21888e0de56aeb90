"""The pieces of a tree of answers, to which credit is given.

A piece is a longest run of tokens of one node that the same leaves share. Rows are leaves; the rows in the loss are
the selected leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.types import Origin, Row


@dataclass(frozen=True)
class Piece:
    """Tokens [start, end) of an answer, and the rows (leaves of one group) that share them."""

    start: int
    end: int
    leaves: tuple[int, ...]


def pieces(rows: Sequence[Row]) -> list[list[Piece]]:
    """For each row of a group, its pieces from the root on, in order; tokens of an environment belong to no piece."""
    held: dict[str, dict[int, int]] = {}  # node -> row -> number of the node's tokens in the row
    for i, row in enumerate(rows):
        for segment, name in zip(row.episode.segments, _nodes(row, i), strict=True):
            held.setdefault(name, {})[i] = len(segment)
    result: list[list[Piece]] = []
    for i, row in enumerate(rows):
        mine, start = [], 0
        for segment, name in zip(row.episode.segments, _nodes(row, i), strict=True):
            cuts = sorted({0, *held[name].values()})
            if len(segment) and (segment.origin == Origin.POLICY).all():
                for low, high in zip(cuts, cuts[1:], strict=False):
                    if high <= len(segment):
                        leaves = tuple(j for j, count in held[name].items() if count >= high)
                        mine.append(Piece(start + low, start + high, leaves))
            start += len(segment)
        result.append(mine)
    return result


def _nodes(row: Row, index: int) -> list[str]:
    """The node of each segment; a segment without a node is shared with no other row."""
    return [segment.node or f"{index}/{place}" for place, segment in enumerate(row.episode.segments)]
