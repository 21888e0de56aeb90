"""Paths: an answer whose context was replaced on the way is learnt as several rows, one for each context.

Credit sees whole answers. A batch has a row for each path, under what the policy read when it wrote the path's tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.streams import streams_of
from assay.types import Episode, Path, Row, Segment, changed


def by_path(rows: Sequence[Row], places: Sequence[int] | None) -> tuple[list[Row], list[int] | None]:
    """A row for each path of each row, and the place of the row that it is of. Rows of one path stay as they are."""
    if all(segment.context is None for row in rows for segment in row.episode.segments):
        return list(rows), None if places is None else list(places)
    apart = [(path, place) for place, row in enumerate(rows) for path in _paths(row)]
    return [path for path, _ in apart], None if places is None else [places[place] for _, place in apart]


def _paths(row: Row) -> Iterator[Row]:
    trained, sampled = row.episode.paths(), row.episode.paths(sampled=True)
    if len(trained) == 1:
        yield row
        return
    for one, asked in zip(trained, sampled, strict=True):
        yield row.mark(episode=_episode(row.episode, one, asked), **_cut(row, one.start, one.stop))


def _episode(episode: Episode, trained: Path, sampled: Path) -> Episode:
    """The path as an answer of its own, to the same request."""
    request = changed(episode.request, context=sampled.context, train_context=None, prefix=())
    vars(request)["id"] = episode.request.id  # a digest of what was asked first
    segments = tuple(_within(episode.segments, trained.start, trained.stop))
    context = None if trained.context is sampled.context else trained.context
    return changed(episode, request=request, segments=segments, context=context)


def _within(segments: Sequence[Segment], start: int, stop: int) -> Iterator[Segment]:
    """The segments of a path, which begins and ends with whole ones."""
    at = 0
    for segment in segments:
        if start <= at < stop and len(segment):
            yield segment if segment.context is None else changed(segment, context=None)
        at += len(segment)


def _cut(row: Row, start: int, stop: int) -> dict[str, Any]:
    """The numbers of these tokens, of all that a row has for each token."""
    declared = [name for name, stream in streams_of(Row).items() if stream.per == "token"]
    values = {name: value[start:stop] for name in declared if (value := getattr(row, name)) is not None}
    weights: Mapping[str, Any] = {name: value[start:stop] for name, value in row.term_weights.items()}
    constants = {
        stream: value[start:stop] if stream.per == "token" else value for stream, value in row.constants.items()
    }
    return {**values, "term_weights": weights, "constants": constants}
