"""Turns rows into batches: computes the advantages of the rows, then lays all tokens end to end without padding."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import NoneType
from typing import Any

import numpy as np

from assay.credit.paths import by_path
from assay.memory import Memory
from assay.streams import Names, Stream, streams_of
from assay.types import Batch, Origin, Row, Segment, changed, end_to_end

Estimator = Callable[..., list[Row]]
"""(rows, *, memory, ...) -> the same rows with their advantage. Groups, trees, turns or tokens: it sees whole rows."""


@dataclass(frozen=True)
class BatchRule:
    """How the rows of one role become a batch, and which roles share that batch.

    Example:
        BatchRule(estimators=(group_relative,), batch="policy")
    """

    estimators: tuple[Estimator, ...]  # the first computes the advantages, each of the others changes them
    batch: str  # the name of the batch; roles with equal names share a batch, a parameter set and an objective
    injected: bool = False  # tokens that somebody else wrote are trained too


def credit(rows: Sequence[Row], memory: Memory, *, rule_of: Callable[[str], BatchRule]) -> list[Batch]:
    """The batches of these rows, sorted by name. Advantages are computed over all rows of a role at once. Rows whose
    batch name (`Row.batch`) or batch rule differs are packed into different batches.
    """
    rules = {role: rule_of(role) for role in sorted({row.role for row in rows})}
    credited = list(rows)
    for role, rule in rules.items():
        places = [i for i, row in enumerate(rows) if row.role == role]
        for i, row in zip(places, advantages([rows[i] for i in places], memory, rule.estimators), strict=True):
            credited[i] = row
    members: dict[tuple[str, str], list[int]] = {}
    for i, row in enumerate(credited):
        if row.in_loss or row.in_denominator:
            members.setdefault((row.batch, rules[row.role].batch), []).append(i)
    injected = {role for role, rule in rules.items() if rule.injected}
    return [
        pack([credited[i] for i in members[name]], injected=injected, places=members[name]) for name in sorted(members)
    ]


def advantages(rows: Sequence[Row], memory: Memory, estimators: Sequence[Estimator]) -> list[Row]:
    """The rows with the advantages that the estimators give them. Rows without a reward, and rows that are left out of
    the statistics of their group, keep what they had: the estimators do not see them.
    """
    valid = [i for i, row in enumerate(rows) if row.in_group and row.reward is not None]
    found = [rows[i] for i in valid]
    for estimator in estimators if found else ():
        found = estimator(found, memory=memory)
    result = list(rows)
    for i, row in zip(valid, found, strict=True):
        result[i] = row
    return result


def by_reward(one: Callable[..., np.ndarray]) -> Estimator:
    """Makes an estimator of a function (rewards, groups) -> one advantage for each row. Every token of a row gets the
    advantage of the row.
    """

    @functools.wraps(one)
    def estimator(rows: Sequence[Row], **values: object) -> list[Row]:
        found = one(np.array([earned(row) for row in rows], dtype=np.float64), group_numbers(rows), **values)
        lengths = [len(row.episode) for row in rows]
        spread, ends = np.repeat(found, lengths), np.cumsum(lengths).tolist()
        places = zip(rows, ends, lengths, strict=True)
        return [changed(row, advantage=spread[end - length : end]) for row, end, length in places]

    return estimator


def group_numbers(rows: Sequence[Row]) -> np.ndarray:
    """The number of each row's group, counted in the order of their first rows."""
    names = [row.group for row in rows]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names])


def earned(row: Row) -> float:
    """The reward of a row plus the rewards of its tokens. A KL penalty in the reward is thus part of every baseline."""
    return (row.reward or 0.0) + (0.0 if row.process is None else float(row.process.sum(dtype=np.float64)))


def pack(rows: Sequence[Row], *, injected: Collection[str] = (), places: Sequence[int] | None = None) -> Batch:
    """The batch of these rows, with a row for each path of an answer whose context was replaced. Tokens that the policy
    did not write are trained only in the roles of `injected`. `places`: where each row stands among those from which
    they were taken.
    """
    rows, places = by_path(rows, places)
    episodes = [row.episode for row in rows]
    lengths = np.array([len(episode) for episode in episodes], dtype=np.int64)
    contexts = [episode.training_context for episode in episodes]
    asked = [episode.request.context for episode in episodes]
    segments = [segment for episode in episodes for segment in episode.segments]
    learnt = _learnt(rows, lengths, segments, injected)
    return Batch(
        context=_join(contexts, np.int32),
        context_at=_offsets(contexts),
        at=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        mask=learnt & np.repeat(np.array([row.in_loss for row in rows], dtype=bool), lengths),
        counted=learnt & np.repeat(np.array([row.in_denominator for row in rows], dtype=bool), lengths),
        counted_rows=np.array([row.in_denominator for row in rows], dtype=bool),
        advantage=_join([_weighted(row) for row in rows], np.float32),
        temperature=np.array([e.request.temperature for e in episodes], dtype=np.float32),
        problem=Names.of(e.request.problem.id for e in episodes),
        request=Names.of(e.request.id for e in episodes),
        group=Names.of(row.group for row in rows),
        role=rows[0].role if rows else "policy",
        roles=Names.of(row.role for row in rows),
        tag=Names.of(row.tag or row.episode.request.tag for row in rows),
        outcome=np.array([np.nan if row.reward is None else row.reward for row in rows], dtype=np.float32),
        right=np.array([e.right for e in episodes], dtype=bool),
        ended=np.array([e.finish == "stop" for e in episodes], dtype=bool),
        truncated=np.array([e.finish == "length" for e in episodes], dtype=bool),
        place=None if places is None else np.array(places, dtype=np.int64),
        version=np.repeat(np.array([s.version for s in segments], np.int32), [len(s.ids) for s in segments]),
        sampled=end_to_end(segments, "old"),
        generation=_join(asked, np.int32) if _differ(contexts, asked) else None,
        generation_at=_offsets(asked) if _differ(contexts, asked) else None,
        term_weights=_term_weights(rows),
        constants=_constants(rows),
        **_written(segments),
        **_carried(rows),
    )


def _learnt(
    rows: Sequence[Row], lengths: np.ndarray, segments: Sequence[Segment], injected: Collection[str]
) -> np.ndarray:
    """bool[M]: what `trains` says of each row, for all rows end to end."""
    origin = end_to_end(segments, "origin")
    learnt = taught(origin, np.repeat(np.array([row.role in injected for row in rows], bool), lengths))
    if any(row.keep is not None for row in rows):
        learnt &= _join([np.ones(n, bool) if row.keep is None else row.keep for row, n in zip(rows, lengths)], bool)
    return learnt


def taught(origin: np.ndarray, imitate: bool | np.ndarray) -> np.ndarray:
    """bool[M]: the tokens of the policy and, where others are imitated, those of others; never an environment's."""
    return (origin == Origin.POLICY) | (imitate & (origin != Origin.ENV))


def trains(row: Row, *, imitate: bool = False) -> np.ndarray:
    """bool[T]: which tokens of a row are trained if the row is in the loss. Tokens that somebody else wrote are trained
    only if the role imitates them; replies of an environment never are.
    """
    origin = row.episode.stream("origin")
    learnt = taught(origin, imitate)
    return learnt if row.keep is None else learnt & row.keep


def _weighted(row: Row) -> np.ndarray:
    if row.advantage is None:
        return np.zeros(len(row.episode))
    return row.advantage if row.weight == 1.0 else row.weight * row.advantage


def _written(segments: Sequence[Segment]) -> dict[str, np.ndarray]:
    """The streams that segments and batches declare and rows do not: numbers that the sampler gave to the tokens. One
    that is wide is there if a segment has it; the others are NaN where nothing is known.
    """
    declared = streams_of(Batch)
    names = (streams_of(Segment).keys() & declared.keys()) - streams_of(Row).keys()
    names -= {name for name in names if declared[name].wide and not _there(list(map(attrgetter(name), segments)))}
    return {name: end_to_end(segments, name).astype(declared[name].dtype, copy=False) for name in names}


def _carried(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """The streams that rows and batches both declare. Either every row of the loss has a stream or none has it, unless
    the stream says what a row without it has. A row outside the loss may lack any and gets zeros, which nobody reads.
    The advantage is not among them: `pack` multiplies it by the weight of the row.
    """
    found, fills = {}, [None if row.in_loss else 0.0 for row in rows]
    for name in (streams_of(Row).keys() & streams_of(Batch).keys()) - {"advantage"}:
        pieces = list(map(attrgetter(name), rows))
        if _there(pieces):
            declared = streams_of(Batch)[name]
            own = fills if declared.fill is None else [declared.fill] * len(rows)
            found[name] = _filled(declared, rows, pieces, own)
    return found


def _there(pieces: Sequence[Any]) -> bool:
    """Whether any piece is there. Most streams are in no row, so that this is asked more often than anything else."""
    return not set(map(type, pieces)) <= {NoneType}


def _constants(rows: Sequence[Row]) -> Mapping[Stream, np.ndarray]:
    """The constants that parts computed for each other, over all rows."""
    declared = dict.fromkeys(stream for row in rows for stream in row.constants)
    return {s: _filled(s, rows, [row.constants.get(s) for row in rows], [s.fill] * len(rows)) for s in declared}


def _term_weights(rows: Sequence[Row]) -> Mapping[str, np.ndarray]:
    """The weights of further loss terms. A row without a weight for a term that other rows weigh gets the weight 1."""
    declared = [Stream(name, per="token") for name in sorted({name for row in rows for name in row.term_weights})]
    ones = [1.0] * len(rows)
    return {s.name: _filled(s, rows, [row.term_weights.get(s.name) for row in rows], ones) for s in declared}


def _filled(stream: Stream, rows: Sequence[Row], pieces: Sequence[Any], fills: Sequence[float | None]) -> np.ndarray:
    """One stream of all rows, joined. A row that lacks the stream gets its number of `fills` everywhere; ValueError if
    that number is None.
    """
    example = next(np.asarray(piece) for piece in pieces if piece is not None)
    filled = []
    for row, piece, fill in zip(rows, pieces, fills, strict=True):
        shape = example.shape if stream.per == "row" else (len(row.episode), *example.shape[1:])
        if piece is None and fill is None:
            count = sum(piece is not None for piece in pieces)
            raise ValueError(f"{stream.name} is there for {count} of {len(rows)} rows; it must be for all or for none")
        piece = np.full(shape, fill, stream.dtype) if piece is None else np.asarray(piece)
        if piece.shape != shape:
            request = row.episode.request.id
            raise ValueError(f"{stream.name} of request {request} has the shape {piece.shape}, expected {shape}")
        filled.append(piece)
    return _join(filled, stream.dtype) if stream.per == "token" else np.array(filled, stream.dtype)


def _differ(contexts: Sequence[np.ndarray], asked: Sequence[np.ndarray]) -> bool:
    return any(trained is not sampled for trained, sampled in zip(contexts, asked, strict=True))


def _join(pieces: Sequence[np.ndarray], dtype: str | type) -> np.ndarray:
    return np.concatenate(pieces).astype(dtype, copy=False) if pieces else np.zeros(0, dtype)


def _offsets(pieces: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.int64)
