"""Advantages of the pieces of a tree, compared with the whole tree and with the piece before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from assay.credit.pieces import Piece, pieces
from assay.curate.grouping import spread
from assay.errors import ConfigError
from assay.part import Credit
from assay.types import Row, by_group

Share = Literal["once", "root", "each"]
Terms = Literal["both", "global", "local"]


def tree_relative(rows: Sequence[Row], memory: object, *, share: Share, terms: Terms) -> list[Row]:
    """Advantages from leave-one-out rewards c_i and their mean mu, weighted by length:

    V(u) = mean over leaves i below u of (c_i - mu), divided as `share` says by a function of k, the number of selected
    leaves below u. If the local term of a piece is zero, the piece takes that of the piece before. A group of one leaf
    has no advantage.
    """
    if share not in ("once", "root", "each") or terms not in ("both", "global", "local"):
        raise ConfigError(f"credit: share is once, root or each and terms both, global or local; got {share}, {terms}.")
    power = {"once": 1.0, "root": 0.5, "each": 0.0}[share]
    result = list(rows)
    for group in by_group(rows).values():
        advantages = _of_group(group.members, power, terms)
        for i, advantage in zip(group.places, advantages, strict=True):
            result[i] = rows[i].mark(advantage=advantage)
    return result


class TreeRelative(Credit):
    """A(u) = V(u) + [V(u) - V(parent u)] on the tokens of piece u, where V is the mean over the leaves below (TreeRL).

    A piece that k selected leaves share is trained k times. Its value is divided by k (`once`), by the root of k
    (`root`) or not at all (`each`), so that its total weight is 1, root k or k.

        credit=TreeRelative(share="root")
        --mechanism.credit tree-relative --mechanism.credit.share root
    """

    share: Share = "root"
    terms: Terms = "both"  # value relative to the whole tree, to the piece before, or the sum of both
    does = tree_relative
    compares = True


def _of_group(rows: Sequence[Row], power: float, terms: Terms) -> list[np.ndarray]:
    reward = np.array([row.reward for row in rows], dtype=np.float64)
    selected = np.array([row.in_loss for row in rows])
    paths = pieces(rows)
    length = np.array([sum(piece.end - piece.start for piece in path) for path in paths])
    if not spread(reward.tolist()) or not length.any():
        return [np.zeros(len(row.episode)) for row in rows]
    centred = (reward - (reward * length).sum() / length.sum()) * len(rows) / (len(rows) - 1)

    def value(leaves: Sequence[int]) -> float:
        """V of a piece with these leaves."""
        chosen = max(1, np.count_nonzero(selected[list(leaves)]))
        return float(centred[list(leaves)].mean() / chosen**power)

    root = value(range(len(rows)))
    return [
        _along(path, [value(piece.leaves) for piece in path], root, len(row.episode), terms)
        for row, path in zip(rows, paths, strict=True)
    ]


def _along(path: Sequence[Piece], values: Sequence[float], root: float, count: int, terms: Terms) -> np.ndarray:
    """The advantages along one answer."""
    advantage, before, last = np.zeros(count), root, 0.0
    for piece, value in zip(path, values, strict=True):
        local = value - before
        if abs(local) < 1e-8:
            local = last
        before, last = value, local
        advantage[piece.start : piece.end] = {"both": value + local, "global": value, "local": local}[terms]
    return advantage
