"""From rows to batches: advantages over the rows that count, then everything laid end to end without padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from assay.types import Batch, Episode, Origin, Row

Estimator = Callable[..., np.ndarray]


def credit(rows: Sequence[Row], *, estimator: Estimator, injected: bool) -> list[Batch]:
    """One batch for each batch key, in sorted order; rows that neither train nor count are left behind."""
    batches = []
    for key in sorted({row.batch for row in rows}):
        members = [row for row in rows if row.batch == key]
        batch = pack(members, advantages(members, estimator=estimator), injected=injected)
        if len(batch):
            batches.append(batch)
    return batches


def advantages(rows: Sequence[Row], *, estimator: Estimator) -> np.ndarray:
    """The estimator over the rows that are in their group's statistics and have a reward; zero for the others."""
    result = np.zeros(len(rows))
    valid = [i for i, row in enumerate(rows) if row.in_group and row.reward is not None]
    if valid:
        names: dict[str, int] = {}
        group = np.array([names.setdefault(rows[i].group, len(names)) for i in valid])
        reward = np.array([rows[i].reward for i in valid], dtype=np.float64)
        result[valid] = estimator(reward, group) * np.array([rows[i].weight for i in valid])
    return result


def pack(rows: Sequence[Row], advantage: np.ndarray, *, injected: bool) -> Batch:
    """The batch of the rows that are in the loss or in the denominator. `injected`: imitate tokens of others too."""
    kept = [i for i, row in enumerate(rows) if row.in_loss or row.in_denominator]
    rows, advantage = [rows[i] for i in kept], advantage[kept]
    episodes = [row.episode for row in rows]
    lengths = np.array([len(episode) for episode in episodes], dtype=np.int64)
    contexts = [episode.training_context for episode in episodes]
    ids = _join([_stream(e, "ids", np.int32) for e in episodes], np.int32)
    origin = _join([_stream(e, "origin", np.int8) for e in episodes], np.int8)
    trains = origin != Origin.ENV if injected else origin == Origin.POLICY
    differ = any(e.training_context is not e.request.context for e in episodes)
    asked = [e.request.context for e in episodes]
    return Batch(
        context=_join(contexts, np.int32),
        context_at=_offsets(contexts),
        ids=ids,
        at=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        mask=trains & np.repeat(np.array([row.in_loss for row in rows], dtype=bool), lengths),
        counted=trains & np.repeat(np.array([row.in_denominator for row in rows], dtype=bool), lengths),
        counted_rows=np.array([row.in_denominator for row in rows], dtype=bool),
        advantage=np.repeat(advantage, lengths).astype(np.float32),
        origin=origin,
        temperature=np.array([e.request.temperature for e in episodes], dtype=np.float32),
        problem=tuple(e.request.problem.id for e in episodes),
        request=tuple(e.request.id for e in episodes),
        group=tuple(row.group for row in rows),
        role=episodes[0].request.role if episodes else "policy",
        ended=np.array([e.finish == "stop" for e in episodes], dtype=bool),
        truncated=np.array([e.finish == "length" for e in episodes], dtype=bool),
        version=_join(
            [np.repeat([s.version for s in e.segments], [len(s) for s in e.segments]) for e in episodes], np.int32
        ),
        sampled=_join([_stream(e, "old", np.float32) for e in episodes], np.float32),
        mu=_join([_stream(e, "mu", np.float32) for e in episodes], np.float32),
        entropy=_join([_stream(e, "entropy", np.float32) for e in episodes], np.float32),
        old=_optional([row.old for row in rows]),
        ref=_optional([row.ref for row in rows]),
        value=_optional([row.value for row in rows]),
        generation=_join(asked, np.int32) if differ else None,
        generation_at=_offsets(asked) if differ else None,
    )


def _stream(episode: Episode, name: str, dtype: type) -> np.ndarray:
    """A stream over the whole answer; NaN over segments that lack it."""
    pieces = [getattr(segment, name) for segment in episode.segments]
    filled = [np.full(len(s), np.nan) if p is None else p for s, p in zip(episode.segments, pieces, strict=True)]
    return filled[0] if len(filled) == 1 else _join(filled, dtype)


def _join(pieces: Sequence[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate(pieces).astype(dtype, copy=False) if pieces else np.zeros(0, dtype)


def _offsets(pieces: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.int64)


def _optional(streams: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """A forward that was asked for is there for every row or for none."""
    present = [stream for stream in streams if stream is not None]
    if not present:
        return None
    if len(present) < len(streams):
        raise ValueError(f"a forward is there for {len(present)} of {len(streams)} rows")
    return _join(present, np.float32)
