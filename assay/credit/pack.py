"""From rows to batches: advantages over the rows that count, then everything laid end to end without padding."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.errors import DataError
from assay.memory import Memory
from assay.types import Batch, Origin, Row

Estimator = Callable[..., list[Row]]
"""(rows, *, memory, ...) -> the same rows with their advantage. Groups, trees, turns or tokens: it sees whole rows."""


@dataclass(frozen=True)
class Lesson:
    """How the rows of a role become a batch, and with which others they share it."""

    estimators: tuple[Estimator, ...]  # the first estimates, the others shape what it gave
    batch: str  # roles of one name learn in one batch: the same parameter set, the same objective
    injected: bool = False  # imitate tokens of others too


def credit(rows: Sequence[Row], memory: Memory, *, lesson: Callable[[str], Lesson]) -> list[Batch]:
    """Advantages over all rows of a role at once, then a batch for each batch key and lesson, in sorted order."""
    lessons = {role: lesson(role) for role in sorted({row.role for row in rows})}
    credited = list(rows)
    for role, taught in lessons.items():
        places = [i for i, row in enumerate(rows) if row.role == role]
        for i, row in zip(places, advantages([rows[i] for i in places], memory, taught.estimators), strict=True):
            credited[i] = row
    members: dict[tuple[str, str], list[Row]] = {}
    for row in credited:
        if row.in_loss or row.in_denominator:
            members.setdefault((row.batch, lessons[row.role].batch), []).append(row)
    return [
        pack(members[place], injected={role for role, taught in lessons.items() if taught.injected})
        for place in sorted(members)
    ]


def advantages(rows: Sequence[Row], memory: Memory, estimators: Sequence[Estimator]) -> list[Row]:
    """The estimators over the rows that are in their group's statistics and have a reward; none for the others."""
    valid = [i for i, row in enumerate(rows) if row.in_group and row.reward is not None]
    found = [rows[i] for i in valid]
    for estimator in estimators if found else ():
        found = estimator(found, memory=memory)
    result = list(rows)
    for i, row in zip(valid, found, strict=True):
        result[i] = row
    return result


def by_reward(one: Callable[..., np.ndarray]) -> Estimator:
    """An estimator over whole rows from a function (rewards, groups) -> one advantage a row, spread over its tokens."""

    @functools.wraps(one)
    def estimator(rows: Sequence[Row], **values: object) -> list[Row]:
        names: dict[str, int] = {}
        group = np.array([names.setdefault(row.group, len(names)) for row in rows])
        found = one(np.array([earned(row) for row in rows], dtype=np.float64), group, **values)
        return [row.mark(advantage=np.full(len(row.episode), a)) for row, a in zip(rows, found, strict=True)]

    return estimator


def earned(row: Row) -> float:
    """The reward of a row and those of its tokens together: what a KL in the reward took is in every baseline too."""
    return (row.reward or 0.0) + (0.0 if row.process is None else float(row.process.sum(dtype=np.float64)))


def pack(rows: Sequence[Row], *, injected: Collection[str] = ()) -> Batch:
    """The batch of these rows. Tokens that the policy did not write train only in the roles of `injected`."""
    episodes = [row.episode for row in rows]
    if any(segment.context is not None for episode in episodes for segment in episode.segments):
        raise DataError("a segment with a context of its own cannot be trained in the row of the segments before it.")
    lengths = np.array([len(episode) for episode in episodes], dtype=np.int64)
    contexts = [episode.training_context for episode in episodes]
    asked = [episode.request.context for episode in episodes]
    learnt = _join([trains(row, imitate=row.role in injected) for row in rows], bool)
    return Batch(
        context=_join(contexts, np.int32),
        context_at=_offsets(contexts),
        ids=_join([e.stream("ids") for e in episodes], np.int32),
        at=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        mask=learnt & np.repeat(np.array([row.in_loss for row in rows], dtype=bool), lengths),
        counted=learnt & np.repeat(np.array([row.in_denominator for row in rows], dtype=bool), lengths),
        counted_rows=np.array([row.in_denominator for row in rows], dtype=bool),
        advantage=_join([_weighted(row) for row in rows], np.float32),
        origin=_join([e.stream("origin") for e in episodes], np.int8),
        temperature=np.array([e.request.temperature for e in episodes], dtype=np.float32),
        problem=tuple(e.request.problem.id for e in episodes),
        request=tuple(e.request.id for e in episodes),
        group=tuple(row.group for row in rows),
        role=rows[0].role if rows else "policy",
        roles=tuple(row.role for row in rows),
        tag=tuple(row.tag or row.episode.request.tag for row in rows),
        outcome=np.array([np.nan if row.reward is None else row.reward for row in rows], dtype=np.float32),
        right=np.array([e.right for e in episodes], dtype=bool),
        ended=np.array([e.finish == "stop" for e in episodes], dtype=bool),
        truncated=np.array([e.finish == "length" for e in episodes], dtype=bool),
        version=_join(
            [np.repeat([s.version for s in e.segments], [len(s) for s in e.segments]) for e in episodes], np.int32
        ),
        sampled=_join([e.stream("old") for e in episodes], np.float32),
        mu=_join([e.stream("mu") for e in episodes], np.float32),
        entropy=_join([e.stream("entropy") for e in episodes], np.float32),
        old=_optional([row.old for row in rows]),
        ref=_optional([row.ref for row in rows]),
        value=_optional([row.value for row in rows]),
        target=_targets(rows),
        top_ids=_optional([row.top_ids for row in rows], np.int32),
        beside=_optional([row.beside for row in rows], np.int32),
        share=_optional([row.share for row in rows]),
        generation=_join(asked, np.int32) if _differ(contexts, asked) else None,
        generation_at=_offsets(asked) if _differ(contexts, asked) else None,
        weights=_weights(rows),
    )


def trains(row: Row, *, imitate: bool = False) -> np.ndarray:
    """bool[T]: the tokens of a row in the loss that train; those that somebody else wrote only to be imitated."""
    origin = row.episode.stream("origin")
    learnt = origin != Origin.ENV if imitate else origin == Origin.POLICY
    return learnt if row.keep is None else learnt & row.keep


def _weighted(row: Row) -> np.ndarray:
    return np.zeros(len(row.episode)) if row.advantage is None else row.weight * row.advantage


def _weights(rows: Sequence[Row]) -> Mapping[str, np.ndarray]:
    """Weights of further loss terms: 1 where a row says nothing about a term that another row weighs."""
    names = sorted({name for row in rows for name in row.weights})
    return {
        name: _join([row.weights.get(name, np.ones(len(row.episode))) for row in rows], np.float32) for name in names
    }


def _differ(contexts: Sequence[np.ndarray], asked: Sequence[np.ndarray]) -> bool:
    return any(trained is not sampled for trained, sampled in zip(contexts, asked, strict=True))


def _join(pieces: Sequence[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate(pieces).astype(dtype, copy=False) if pieces else np.zeros(0, dtype)


def _offsets(pieces: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.int64)


def _targets(rows: Sequence[Row]) -> np.ndarray | None:
    """Credit passes over rows that a filter left in the denominator alone: zeros stand there, which nobody learns."""
    known = any(row.target is not None for row in rows)
    passed = [known and row.target is None and not row.in_loss for row in rows]
    streams = [np.zeros(len(r.episode), np.float32) if zero else r.target for r, zero in zip(rows, passed, strict=True)]
    return _optional(streams)


def _optional(streams: Sequence[np.ndarray | None], dtype: type = np.float32) -> np.ndarray | None:
    """A forward that was asked for is there for every row or for none."""
    present = [stream for stream in streams if stream is not None]
    if not present:
        return None
    if len(present) < len(streams):
        raise ValueError(f"a forward is there for {len(present)} of {len(streams)} rows")
    return _join(present, dtype)
