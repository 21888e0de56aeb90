"""Turns of an answer: what its seat wrote between two replies, and what it was told before."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.types import Episode, Row

Told = tuple[bytes, ...]
"""What a seat was told, one reply or observation after the other."""


@dataclass(frozen=True)
class OwnTurn:
    """Tokens [start, stop) of an answer, which its seat wrote without a break.

    `told` are the replies since the turn before. Before the first turn that is what a world says first, mostly nothing:
    all answers of a group begin in one state, however they are asked. Where a world replaces what is read, it is what
    stands there now; in worlds of numbers each step is a turn, before which an observation was shown.
    """

    start: int
    stop: int
    told: Told
    replied: bool = False  # there is a reply behind it
    failed: bool = False  # which tells of an error


def own_turns(episode: Episode) -> list[OwnTurn]:
    """The turns of an answer, in their order."""
    made: list[OwnTurn] = []
    told: list[bytes] = []
    read, at = True, 0  # read: nothing was said beside what stands in the context
    for segment in episode.segments:
        if segment.context is not None:
            told, read = [_bytes(segment.context)], True
            made[-1:] = [dataclasses.replace(turn, replied=True) for turn in made[-1:]]
        if segment.is_reply:
            told, read = ([] if read else told) + [_bytes(segment.ids)], False
            made[-1:] = [dataclasses.replace(t, replied=True, failed=t.failed or segment.failed) for t in made[-1:]]
        elif segment.seen is not None:
            made += [OwnTurn(at + i, at + i + 1, (_bytes(seen),)) for i, seen in enumerate(segment.seen)]
        elif len(segment) and made and not told and not read:
            made[-1] = dataclasses.replace(made[-1], stop=at + len(segment))
        elif len(segment):
            made.append(OwnTurn(at, at + len(segment), tuple(told)))
            told, read = [], False
        at += len(segment)
    return made


def turn_rewards(row: Row, turns: Sequence[OwnTurn]) -> np.ndarray:
    """What each turn earned: the rewards of its tokens, and of the last one also the reward of the answer."""
    if not turns:
        return np.zeros(0)
    edges = [0, *(turn.start for turn in turns[1:]), len(row.episode)]
    dense = np.zeros(len(row.episode)) if row.process is None else np.asarray(row.process, np.float64)
    rewards = np.array([dense[start:stop].sum() for start, stop in zip(edges, edges[1:])])
    rewards[-1] += row.reward or 0.0
    return rewards


def turn_returns(rewards: np.ndarray, gamma: float) -> np.ndarray:
    """R_k = sum_{j >= k} gamma^(j - k) r_j."""
    returns, later = np.zeros(len(rewards)), 0.0
    for k in range(len(rewards) - 1, -1, -1):
        returns[k] = later = rewards[k] + gamma * later
    return returns


def _bytes(said: np.ndarray) -> bytes:
    return np.ascontiguousarray(said).tobytes()
