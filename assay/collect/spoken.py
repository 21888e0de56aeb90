"""What a seat has read and written, as the segments of its answer: its turns, what its limits leave, what it earned."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from assay.ask import Codec
from assay.collect.turns import ended_by_token, text_of
from assay.errors import AssayError
from assay.types import Episode, Ids, Origin, Request, Reward, Segment, changed


def in_words(answer: Episode, codec: Codec) -> Episode:
    """The answer with its text. While a play goes on nobody reads it, and each turn would decode it anew."""
    return changed(answer, text=text_of(answer.segments, codec))


def turns_of(segments: Sequence[Segment], codec: Codec) -> Iterator[tuple[str, str]]:
    """The complete turns of an answer: what its seat wrote, and what it heard then."""
    written: list[int] = []
    heard: list[int] = []
    for segment in segments:
        if segment.is_reply:
            heard += segment.ids.tolist()
            continue
        if heard:
            yield codec.decode(written), codec.decode(heard)
            written, heard = [], []
        written += segment.ids.tolist()
    if heard:
        yield codec.decode(written), codec.decode(heard)


def last_turn(answer: Episode, codec: Codec) -> tuple[str, bool]:
    """The text of what the seat wrote since it last heard something, and whether that ends the answer."""
    ids: list[int] = []
    for segment in reversed(answer.segments):
        if segment.is_reply or (segment.context is not None and not len(segment)):
            break
        ids = segment.ids.tolist() + ids
    ended = ended_by_token(answer, codec)
    while ids and ids[-1] in codec.end_ids:
        ids.pop()
    text = codec.decode(ids)
    return text, ended or any(stop in text for stop in codec.stops)


def going_on(episode: Episode) -> tuple[Request, tuple[Segment, ...]]:
    """The request that continues an answer, for the tokens that its limits leave, and the segments of the answer that
    stand before the context that is read now.
    """
    request, segments = episode.request, episode.segments
    start = max((i for i, segment in enumerate(segments) if segment.context is not None), default=0)
    context = segments[start].context if segments else None
    changes = {} if context is None else {"context": context}
    left, parent = left_of(episode), node_of(segments) or request.parent
    now = dataclasses.replace(request, prefix=segments[start:], max_new=left, parent=parent, **changes)
    return now, segments[:start]


def left_of(episode: Episode) -> int:
    """How many tokens a seat may still write. Replies count too, unless they have a limit of their own; where that is
    used up, no token is left.
    """
    request, own = episode.request, episode.segments[len(episode.request.prefix) :]
    replies = sum(len(segment) for segment in own if segment.is_reply)
    written = sum(map(len, own)) - replies
    if request.max_replies:
        return request.max_new - written if replies <= request.max_replies else 0
    return request.max_new - written - replies


def replies_heard(answer: Episode) -> int:
    """How many turns of an answer were replied to."""
    heard = [segment.is_reply or (segment.context is not None and not len(segment)) for segment in answer.segments]
    return sum(now and not before for before, now in zip(heard, heard[1:], strict=False))


def remembered(answer: Episode, most: int, note: Ids) -> Ids | None:
    """What an answer has said and heard, to be read anew: its context, all own words, and of each reply that is longer
    than `most` tokens so many, with the note behind them. None if no reply is longer: then nothing changes.

    Where a world has replaced what is read, and says no reply beside it, that is the context.
    """
    context, start = answer.request.context, 0
    for i, segment in enumerate(answer.segments):
        if segment.context is not None and not any(later.is_reply for later in answer.segments[i + 1 : i + 2]):
            context, start = segment.context, i
    read = [(s.ids, s.is_reply and len(s) > most) for s in answer.segments[start:]]
    if not any(long for _, long in read):
        return None
    return np.concatenate([context, *(np.concatenate([ids[:most], note]) if long else ids for ids, long in read)])


def earned(answer: Episode, value: float) -> Episode:
    """The answer with the reward of its last turn, at the last token that its seat wrote."""
    for place in range(len(answer.segments) - 1, -1, -1):
        segment = answer.segments[place]
        if is_own(segment):
            rewards = np.zeros(len(segment), np.float32) if segment.earned is None else segment.earned.copy()
            rewards[-1] += value
            rewarded = changed(segment, earned=rewards)
            return changed(answer, segments=(*answer.segments[:place], rewarded, *answer.segments[place + 1 :]))
    raise AssayError(f"the world of '{answer.request.problem.task}' rewards a seat that has not acted.")


def earned_by_turn(answer: Episode) -> tuple[Reward, ...]:
    """The rewards that a world gave to the turns of an answer; () if it gave none."""
    if all(segment.earned is None for segment in answer.segments):
        return ()
    given = np.nan_to_num(answer.stream("earned"))
    at = np.flatnonzero(given).astype(np.int32)
    return (Reward("turns", float(given.sum(dtype=np.float64)), scope="turn", values=given[at], at=at),)


def is_own(segment: Segment) -> bool:
    """Whether its seat wrote it, or was given it to go on from."""
    return len(segment) > 0 and segment.origin[-1] != Origin.ENV


def node_of(segments: Sequence[Segment]) -> str:
    """The node of the last segment that has one; "" if none has."""
    return next((segment.node for segment in reversed(segments) if segment.node), "")


def replied_node(segments: Sequence[Segment]) -> str:
    """The node of the last turn that the world has replied to; "" if it has replied to none."""
    heard = False
    for segment in reversed(segments):
        if heard and segment.node:
            return segment.node
        heard = heard or segment.is_reply
    return ""
