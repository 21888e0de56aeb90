"""The rollouts of a step as one parquet file: prompt, completion, verdict, reward and token columns of each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.errors import StorageError
from assay.host.tables import columns_of, rows_of
from assay.record import disk
from assay.record.turns import as_records, in_a_world, play_of, turn_type, with_texts
from assay.streams import streams_of
from assay.types import Batch, Episode, Row, Segment

Decode = Callable[[Sequence[int]], str]

_TEXT = ("problem", "task", "group", "request", "role", "seat", "play", "tag", "provenance", "prompt", "completion")
_TEXT += ("finish", "verdict", "verdict_kind", "verdict_detail", "answer", "batch")
_INTEGER = ("step", "level", "draw", "sample", "round", "length")
_REAL = ("temperature", "reward", "weight")
_FLAG = ("in_loss", "in_group", "in_denominator")
_DECLARED = {
    name: stream
    for name, stream in {**streams_of(Segment), **streams_of(Row)}.items()
    if stream.per == "token" and not stream.wide
}
_NUMBERS = ("seen", "action", "cost")  # several numbers to each step, which worlds of numbers alone have
TURNS = "turns"
_COLUMN = {"ids": "tokens"}  # streams that have another name here
_STREAMS = {"context": "int32", "version": "int32"} | {
    _COLUMN.get(name, name): stream.dtype for name, stream in _DECLARED.items()
}


def rollout_table(
    rows: Sequence[Row | Episode],
    decode: Decode,
    *,
    step: int,
    batches: Sequence[Batch] = (),
    places: Sequence[int] | None = None,
) -> dict[str, list[Any]]:
    """The columns of the file, with one entry for each row, or for those at `places` alone.

    Token columns (log-probabilities, entropy, advantage, ...) hold a list over the tokens of the completion, or None if
    the run did not compute it. Columns that credit computed, such as the advantage, come from the batch of `batches` in
    which the row trained; a batch knows its rows by their places among `rows`, for copies of a row share its request.
    Each reward part has a column `reward/<name>`, and each reward of which it is made a column `reward/<name>/<part>`,
    with None for rows that lack this part. What was seen, done and paid in worlds of numbers has columns if any row has
    such numbers.
    """
    trained: dict[int, Place] = {}
    for batch in batches:
        for i, index in enumerate([] if batch.place is None else batch.place.tolist()):
            trained[index] = Place(batch, min(i, trained[index].first) if index in trained else i, i)
    kept = range(len(rows)) if places is None else places
    records = [_record(rows[index], decode, step, trained.get(index)) for index in kept]
    parts = sorted({name for record in records for name in record if name.startswith("reward/")})
    numbers = [name for name in _NUMBERS if any(name in record for record in records)]
    names = (*_INTEGER, *_TEXT, TURNS, *_REAL, *parts, *_FLAG, *_STREAMS, *numbers)
    return {name: [record.get(name) for record in records] for name in names}


def shared_out(rows: Sequence[Row], most: int) -> list[int]:
    """The places of at most `most` rows, ascending, with a fair share for each role: no role gets more than another
    that has rows left. What cannot be shared evenly goes to roles that train first. A role keeps its first rows in the
    order in which problems were drawn: plays of few turns end first, and would be all that is kept.
    """
    numbers, counts = dict[int, int](), Counter[str]()  # of each row within its role
    for place in sorted(range(len(rows)), key=lambda place: rows[place].episode.request.draw):
        numbers[place] = counts[rows[place].role]
        counts[rows[place].role] += 1
    trains = {row.role for row in rows if row.in_loss}
    turns = sorted(range(len(rows)), key=lambda place: (numbers[place], rows[place].role not in trains))
    return sorted(turns[: max(0, most)])


def left_out(rows: Sequence[Row], places: Sequence[int]) -> dict[str, int]:
    """Role -> how many of its rows are not among those at `places`; only roles that miss some."""
    missing = Counter(row.role for row in rows)
    missing.subtract(rows[place].role for place in places)
    return {role: count for role, count in sorted(missing.items()) if count}


def _episode(row: Row | Episode) -> Episode:
    return row.episode if isinstance(row, Row) else row


class Place(NamedTuple):
    """The rows of a batch that are the paths of one answer, which stand one behind the other."""

    batch: Batch
    first: int
    last: int


def _record(row: Row | Episode, decode: Decode, step: int, trained: Place | None) -> dict[str, Any]:
    episode, marked = _episode(row), row if isinstance(row, Row) else None
    request, verdict = episode.request, episode.verdict
    record: dict[str, Any] = {
        "step": step,
        "problem": request.problem.id,
        "task": request.problem.task,
        "level": request.problem.level,
        "group": request.group,
        "request": request.id,
        "role": request.role,
        "seat": request.seat or None,
        "play": play_of(request) if in_a_world(episode) else None,
        "tag": request.tag,
        "draw": request.draw,
        "sample": request.sample,
        "round": request.round,
        "temperature": request.temperature,
        "provenance": episode.provenance,
        "prompt": decode(request.context.tolist()),
        "completion": episode.text,
        TURNS: as_records(episode, decode),
        "finish": episode.finish,
        "verdict": verdict.status if verdict else None,
        "verdict_kind": verdict.kind if verdict else None,
        "verdict_detail": verdict.detail if verdict else None,
        "answer": verdict.answer if verdict else None,
        "reward": episode.reward,
        "length": len(episode),
    }
    for path, part in (pair for whole in episode.rewards for pair in whole.named()):
        name = f"reward/{path}"
        record[name] = None if part.invalid or part.unread else (record.get(name) or 0.0) + float(part.value)
    if marked:
        record.update({name: getattr(marked, name) for name in (*_FLAG, "weight", "batch")})
    return record | _streams(episode, marked, trained) | _numbers(episode)


def _numbers(episode: Episode) -> dict[str, Any]:
    """What was seen, done and paid at each step, those of it that the world and the policy have as numbers."""
    return {name: stream.tolist() for name in _NUMBERS if (stream := episode.known(name)) is not None}


def _streams(episode: Episode, row: Row | None, trained: Place | None) -> dict[str, Any]:
    """The token columns. A value that the learner computed replaces the one that the sampler computed."""
    versions = [np.full(len(segment), segment.version) for segment in episode.segments]
    streams: dict[str, Any] = {
        "context": episode.training_context,
        "version": np.concatenate(versions) if versions else np.zeros(0, np.int32),
    }
    for name in _DECLARED:
        candidates = (_of_row(name, row), _of_segments(name, episode), _of_batch(name, trained))
        stream = next((stream for stream in candidates if stream is not None), None)
        if stream is not None and len(stream) != len(episode):
            raise StorageError(
                f"column {name} of request {episode.request.id} has {len(stream)} values for {len(episode)} tokens."
            )
        streams[_COLUMN.get(name, name)] = stream
    return {name: None if stream is None else np.asarray(stream).tolist() for name, stream in streams.items()}


def _of_row(name: str, row: Row | None) -> np.ndarray | None:
    return getattr(row, name) if row is not None and name in streams_of(Row) else None


def _of_segments(name: str, episode: Episode) -> np.ndarray | None:
    """The stream over all segments; None where none has it. Ids and origins of an answer without segments are empty."""
    if name not in streams_of(Segment):
        return None
    known = any(getattr(segment, name) is not None for segment in episode.segments)
    return episode.stream(name) if known or name in ("ids", "origin") else None


def _of_batch(name: str, trained: Place | None) -> np.ndarray | None:
    """The stream from the batch: credit computed it, and the rows that credit was given do not have it."""
    if trained is None or name not in streams_of(Row) or (stream := getattr(trained.batch, name, None)) is None:
        return None
    at = trained.batch.at
    return stream[at[trained.first] : at[trained.last + 1]]


def file_of(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}.parquet"


def write_rollouts(folder: Path, step: int, columns: Mapping[str, Sequence[Any]]) -> Path:
    """Writes `folder/step-N.parquet` atomically and durably. The name of a column decides its type, even if empty."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {name: pa.array(list(values), type=_arrow_type(name, values)) for name, values in columns.items()}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(arrays), sink, compression="zstd")
    path = file_of(folder, step)
    disk.replace(path, sink.getvalue(), point="rollouts")
    return path


def _arrow_type(name: str, values: Sequence[Any]) -> Any:
    """The type of a column of `rollout_table`; None for another column, whose type Arrow then infers. Of columns of
    numbers the values decide how deep their lists are: an observation is a list, one of several candidates a list of
    such.
    """
    import pyarrow as pa

    families = (
        (_TEXT, pa.string()),
        (_INTEGER, pa.int64()),
        (_REAL, pa.float64()),
        (_FLAG, pa.bool_()),
    )
    if name.startswith("reward/"):
        return pa.float64()
    if name == TURNS:
        return pa.list_(turn_type())
    if name in _NUMBERS:
        kind = pa.float32()
        for _ in range(max(map(_depth, values), default=0)):
            kind = pa.list_(kind)
        return kind
    if name in _STREAMS:
        numbers = {"float32": pa.float32(), "bool": pa.bool_()}
        return pa.list_(numbers.get(_STREAMS[name], pa.int32()))
    return next((kind for names, kind in families if name in names), None)


def _depth(value: Any) -> int:
    """How many lists stand around the numbers of a value; 0 for None."""
    return 0 if not isinstance(value, list) else 1 + max(map(_depth, value[:1]), default=0)


def read_rollouts(path: Path, columns: Sequence[str] | None = None) -> dict[str, list[Any]]:
    """The columns of a file as they were given to `write_rollouts`, where each turn has its text too, which the file
    has only once; all columns unless some are named.
    """
    names = list(columns or columns_of(path))
    beside = ["completion"] if TURNS in names and "completion" not in names else []
    table: dict[str, list[Any]] = {name: [] for name in names}
    for row in rows_of(path, [*names, *beside]):
        for name in names:
            table[name].append(_read(name, row))
    return table


def _read(name: str, row: Mapping[str, Any]) -> Any:
    value = row[name]
    return value if name != TURNS or value is None else with_texts(value, row["completion"] or "")
