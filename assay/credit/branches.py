"""Advantages of answers that share tokens, such as branches of one tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Shape
from assay.types import Row


def shared_mean(rows: Sequence[Row]) -> list[Row]:
    """A_t = mean of the advantages at token t over the rows that contain t. A row may contain only a part of a node."""
    own = [np.zeros(len(r.episode)) if r.advantage is None else np.array(r.advantage, np.float64) for r in rows]
    copies: dict[tuple[str, str], list[np.ndarray]] = {}
    for row, advantage in zip(rows, own, strict=True):
        for node, at, size in _nodes(row):
            copies.setdefault((row.group, node), []).append(advantage[at : at + size])
    means = {place: _mean(pieces) for place, pieces in copies.items()}
    result = []
    for row, advantage in zip(rows, own, strict=True):
        advantage = advantage.copy()
        for node, at, size in _nodes(row):
            advantage[at : at + size] = means[row.group, node][:size]
        result.append(row.mark(advantage=advantage))
    return result


class SharedMean(Shape):
    """A token that several rows share gets the mean of their advantages (the hard advantage attribution of ARPO).

    For your own recipes: behind any credit of whole answers, where `expand` grows branches that share tokens.

    shape=(SharedMean(),)
    --mechanism.shape shared-mean
    """

    does = shared_mean


def _mean(pieces: Sequence[np.ndarray]) -> np.ndarray:
    """The mean at each token over the pieces that are long enough to have this token."""
    total, count = np.zeros((2, max(map(len, pieces))))
    for piece in pieces:
        total[: len(piece)] += piece
        count[: len(piece)] += 1
    return total / count


def _nodes(row: Row) -> list[tuple[str, int, int]]:
    """(node, first token, number of tokens) of each segment of the row that belongs to a node."""
    starts = np.cumsum([0, *(len(segment) for segment in row.episode.segments)])
    return [(s.node, int(at), len(s)) for s, at in zip(row.episode.segments, starts, strict=False) if s.node]
