"""The turns of an answer in a world: who wrote what, which reply tells of an error, what a turn earned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from assay.types import Episode, Origin, Request

Decode = Callable[[Sequence[int]], str]

WORLD, GIVEN = "world", "given"
"""The authors beside the seats: what the world replied, with the words of other seats in it, and a given beginning."""


@dataclass(frozen=True)
class TurnTold:
    """What one author wrote without a break. `start` and `stop` are places in the text of the answer."""

    author: str  # the seat, `world` or `given`
    start: int
    stop: int
    tokens: int
    failed: bool = False  # a reply that tells of an error of the policy's
    earned: float | None = None  # what the world paid for it; None: nothing was said of it
    reads: str | None = None  # what stands in place of all that was read before, if the world replaced it here


@dataclass
class _Piece:
    """Tokens of one author, one behind the other."""

    author: str
    ids: list[int]
    failed: bool = False
    earned: float | None = None
    context: Sequence[int] | None = None


def in_a_world(episode: Episode) -> bool:
    """Whether somebody replies to the answer in words."""
    return not episode.paid and (bool(episode.request.seat) or any(segment.is_reply for segment in episode.segments))


def turns(episode: Episode, decode: Decode) -> list[TurnTold]:
    """The turns of an answer, end to end: `episode.text[turn.start : turn.stop]` is what was written in one.

    Of a context that was replaced, and under which nothing was written any more, nothing is told.
    """
    runs = list(_runs(episode))
    edges, made = _edges(runs, decode, episode.text), list[TurnTold]()
    for run, start, stop in zip(runs, edges, edges[1:]):
        reads = None if run.context is None else decode(run.context)
        made.append(TurnTold(run.author, start, stop, len(run.ids), run.failed, run.earned, reads))
    return made


def as_records(episode: Episode, decode: Decode) -> list[dict[str, Any]] | None:
    """The turns of an answer as a file keeps them, without their texts; None where nobody replies in words."""
    return [asdict(turn) for turn in turns(episode, decode)] if in_a_world(episode) else None


def turn_type() -> Any:
    """The type of a turn in Parquet."""
    import pyarrow as pa

    kinds = {"author": pa.string(), "start": pa.int32(), "stop": pa.int32(), "tokens": pa.int32()}
    return pa.struct(list({**kinds, "failed": pa.bool_(), "earned": pa.float64(), "reads": pa.string()}.items()))


def with_texts(told: Sequence[Mapping[str, Any]], text: str) -> list[dict[str, Any]]:
    """Turns as records, each with its own part of the text of the answer."""
    return [{"author": one["author"], "text": text[one["start"] : one["stop"]]} | dict(one) for one in told]


def play_of(request: Request) -> str | None:
    """The name of the play that the answer is of: that of the group and the number of the answer, which all seats of a
    play share. None where nobody replies.
    """
    if not request.seat:
        return None
    root = request.group.removesuffix(f"/{request.seat}")
    return f"{root}#{request.sample}" + (f".{request.round}" if request.round else "")


def told_of_plays(episodes: Sequence[Episode]) -> dict[str, int | float]:
    """Of answers in worlds: their number, turns of their seats and replies in the mean, the share of replies that tell
    of an error, and how many answers a fault of the world cost. Empty where nobody replies; of worlds of numbers, whose
    turns are steps, the number and the faults alone.
    """
    played = [episode for episode in episodes if episode.request.seat]
    if not played:
        return {}
    lost = sum(map(lost_to_the_world, played))
    spoken = [[_brief(run) for run in _runs(episode)] for episode in played if not episode.paid]
    return told_of_turns(spoken, lost) | {"answers": len(played), "faults": lost}


def told_of_turns(answers: Sequence[Sequence[Mapping[str, Any]]], lost: int) -> dict[str, int | float]:
    """The same of turns as files keep them, of answers of which the world lost so many."""
    if not answers:
        return {}
    told: dict[str, int | float] = {"answers": len(answers), "faults": lost}
    replies = [[turn["failed"] for turn in turns if turn["author"] == WORLD] for turns in answers]
    count = sum(map(len, replies))
    own = sum(turn["author"] not in (WORLD, GIVEN) for turns in answers for turn in turns)
    told |= {"turns": own / len(answers), "replies": count / len(answers)}
    return told | ({"failed": sum(map(sum, replies)) / count} if count else {})


def _brief(run: _Piece) -> dict[str, Any]:
    return {"author": run.author, "failed": run.failed}


def lost_to_the_world(episode: Episode) -> bool:
    """Whether the answer has no verdict because of a fault of its world."""
    verdict = episode.verdict
    return verdict is not None and verdict.status == "invalid" and verdict.kind == "world"


def _runs(episode: Episode) -> Iterator[_Piece]:
    """Tokens by author. Own words go on over segments, as versions and pieces of a turn do; each reply is a run."""
    begun: _Piece | None = None
    for run in _of_one_origin(episode):
        if begun is not None and run.author == begun.author != WORLD and run.context is None:
            begun.ids += run.ids
            begun.earned = _sum(begun.earned, run.earned)
            continue
        if begun is not None:
            yield begun
        begun = run
    if begun is not None:
        yield begun


def _of_one_origin(episode: Episode) -> Iterator[_Piece]:
    """The parts of segments that have one author. What replaced the context stands at the first part under it."""
    seat, context = episode.request.seat or episode.request.role, None
    authors = {Origin.ENV: WORLD, Origin.INJECTED: GIVEN}
    for segment in episode.segments:
        context = context if segment.context is None else segment.context.tolist()
        cuts = [0, *(np.flatnonzero(np.diff(segment.origin)) + 1).tolist(), len(segment)]
        for start, stop in ((start, stop) for start, stop in zip(cuts, cuts[1:]) if stop > start):
            author = authors.get(int(segment.origin[start]), seat)
            earned = None if segment.earned is None or author == WORLD else _total(segment.earned[start:stop])
            yield _Piece(author, segment.ids[start:stop].tolist(), segment.failed, earned, context)
            context = None


def _total(values: np.ndarray) -> float | None:
    """The sum of what was paid; None where nothing was said."""
    known = values[np.isfinite(values)]
    return float(known.sum(dtype=np.float64)) if len(known) else None


def _sum(one: float | None, two: float | None) -> float | None:
    return two if one is None else one if two is None else one + two


def _edges(runs: Sequence[_Piece], decode: Decode, text: str) -> list[int]:
    """Where each run begins in the text of the answer, and where the last one ends.

    Texts of runs stand end to end in it, unless a tokenizer decodes the beginning of a text in another way than what
    stands within; then the answer is decoded up to each edge. What ends an answer may be no part of its text.
    """
    pieces = [decode(run.ids) for run in runs]
    lengths = [len(piece) for piece in pieces]
    if not "".join(pieces).startswith(text):
        ids, lengths = list[int](), list[int]()
        for run in runs:
            ids += run.ids
            lengths.append(len(decode(ids)) - sum(lengths))
    edges = [0, *np.cumsum(lengths, dtype=np.int64).tolist()]
    return [max(0, min(edge, len(text))) for edge in edges]
