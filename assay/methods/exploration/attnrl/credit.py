"""Advantages of the pieces of a tree: the value of the subtree, compared with the whole tree and the piece before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.credit.pack import earned
from assay.credit.pieces import Piece, pieces
from assay.curate.grouping import spread
from assay.part import Credit
from assay.types import Row, by_group


def subtree_relative(rows: Sequence[Row]) -> list[Row]:
    """A(u) = [(V(u) - V_root) + (V(u) - V(parent u))] / sqrt(n(u)) on the tokens of piece u.

    V(u) is the mean reward of the n(u) leaves below u, V_root that of all leaves. 0 if all rewards are equal.
    """
    result = list(rows)
    for group in by_group(rows).values():
        reward = np.array([earned(row) for row in group.members], np.float64)
        alive = spread(reward.tolist())
        for i, path in zip(group.places, pieces(group.members), strict=True):
            advantage = np.zeros(len(rows[i].episode))
            if alive:
                _write(advantage, path, reward)
            result[i] = rows[i].mark(advantage=advantage)
    return result


def _write(advantage: np.ndarray, path: Sequence[Piece], reward: np.ndarray) -> None:
    """The advantages along one answer, from its root on. Pieces that the same leaves share, on both sides of a reply of
    an environment, are one.
    """
    root = value = float(reward.mean())
    leaves: tuple[int, ...] = ()
    own = 0.0
    for piece in path:
        if piece.leaves != leaves:
            leaves, before = piece.leaves, value
            value = float(reward[list(leaves)].mean())
            own = (value - root + value - before) / np.sqrt(len(leaves))
        advantage[piece.start : piece.end] = own


class SubtreeRelative(Credit):
    """A piece of a tree is worth the mean reward below it, less that of the whole tree and less that of the piece
    before; a piece that n leaves share is trained n times, and is divided by the root of n (AttnRL 2509.26628).
    """

    compares = True
    does = subtree_relative
