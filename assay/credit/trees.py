"""Credit in trees: what the leaves below a piece of an answer earned, against those below the piece before it.

A piece is a longest run of tokens of one node that the same leaves share. Rows are leaves; those in the loss are the
selected ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.errors import ConfigError
from assay.grouping import groups, spread
from assay.part import Part
from assay.types import Origin, Row

Share = Literal["once", "root", "each"]
Terms = Literal["both", "global", "local"]


@dataclass(frozen=True)
class TreeRelative(Part):
    """A(u) = V(u) + [V(u) - V(parent u)] on the tokens of piece u, V the mean over the leaves below (TreeRL).

    A piece that k selected leaves share is trained k times; its value is divided by k, by root k, or not at all, so
    that in total it weighs 1, root k or k.
    """

    share: Share = "root"
    terms: Terms = "both"


@dataclass(frozen=True)
class ProcessRelative(Part):
    """A_t = value of the step - mean of the group's rewards: the last step is worth the reward (DeepSearch)."""


def process_relative(rows: Sequence[Row], memory: object) -> list[Row]:
    """A_t = v_t + (R - v_T) - mean_g R, v the row's `process` stream, R itself without one; 0 where all R are equal."""
    result = list(rows)
    for members in groups(rows).values():
        rewards = [rows[i].reward or 0.0 for i in members]
        for i, reward in zip(members, rewards, strict=True):
            value, count = rows[i].process, len(rows[i].episode)
            beyond = np.zeros(count) if value is None or not count else value - value[-1]
            advantage = reward + beyond - np.mean(rewards)
            result[i] = rows[i].mark(advantage=advantage if spread(rewards) else np.zeros(count))
    return result


@dataclass(frozen=True)
class Piece:
    """Tokens [start, end) of an answer, and the rows (leaves of one group) that hold them."""

    start: int
    end: int
    leaves: tuple[int, ...]


def pieces(rows: Sequence[Row]) -> list[list[Piece]]:
    """Of each row of a group the pieces from its root on, in order; tokens of others belong to none."""
    held: dict[str, dict[int, int]] = {}  # node -> row -> how many of its tokens the row holds
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
    """The node of each segment; a segment without one is shared with nobody."""
    return [segment.node or f"{index}/{place}" for place, segment in enumerate(row.episode.segments)]


def tree_relative(rows: Sequence[Row], memory: object, *, share: Share, terms: Terms) -> list[Row]:
    """With leave-one-out rewards c_i and mu their mean weighed by length:

    V(u) = mean over leaves i below u of (c_i - mu), divided by what `share` says of the k selected among them.
    A local term of zero is that of the piece before. A group of one leaf has no advantage.
    """
    if share not in ("once", "root", "each") or terms not in ("both", "global", "local"):
        raise ConfigError(f"credit: share is once, root or each and terms both, global or local; got {share}, {terms}.")
    power = {"once": 1.0, "root": 0.5, "each": 0.0}[share]
    result = list(rows)
    for members in groups(rows).values():
        found = _of_group([rows[i] for i in members], power, terms)
        for i, advantage in zip(members, found, strict=True):
            result[i] = rows[i].mark(advantage=advantage)
    return result


def _of_group(rows: Sequence[Row], power: float, terms: Terms) -> list[np.ndarray]:
    reward = np.array([row.reward for row in rows], dtype=np.float64)
    selected = np.array([row.in_loss for row in rows])
    paths = pieces(rows)
    length = np.array([sum(piece.end - piece.start for piece in path) for path in paths])
    if not spread(reward.tolist()) or not length.any():
        return [np.zeros(len(row.episode)) for row in rows]
    centred = (reward - (reward * length).sum() / length.sum()) * len(rows) / (len(rows) - 1)

    def value(leaves: Sequence[int]) -> float:
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
