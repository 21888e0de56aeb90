"""Answers that are written step by step: a step pauses at its limit or at a mark, and one or several steps follow."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

from assay.collect.spoken import left_of, node_of
from assay.types import Episode, Request


def nodes_of(members: Sequence[Episode]) -> set[str]:
    """The nodes that the requests of these episodes sampled."""
    return {s.node for e in members for s in e.segments[len(e.request.prefix) :] if s.node}


def given_first(episode: Episode, nodes: Collection[str]) -> int:
    """How many segments the answer had before its first step, which is the first that is one of these nodes."""
    places = (i for i, segment in enumerate(episode.segments) if segment.node in nodes)
    return next(places, len(episode.segments))


def limit_of(episode: Episode, nodes: Collection[str], max_new: int) -> int:
    """The limit of the whole answer, if `max_new` tokens may follow the tokens given before its first step."""
    return max_new + sum(map(len, episode.segments[: given_first(episode, nodes)]))


def next_steps(episode: Episode, width: int, step: int, limit: int, *, first: int, round: int) -> list[Request]:
    """`width` requests for the step after a paused episode. `limit` is that of the whole answer, with the tokens that
    were given; the step that reaches it does not pause. Steps that end at marks have what is left of it.
    """
    request = _after(episode, len(episode.segments), step, limit, round)
    return [dataclasses.replace(request, sample=first + i) for i in range(width)]


def again_from(episode: Episode, kept: int, step: int, limit: int, *, sample: int, round: int) -> Request:
    """A request for the step after the first `kept` segments of an answer; with 0, for another first step."""
    return dataclasses.replace(_after(episode, kept, step, limit, round), sample=sample)


def _after(episode: Episode, kept: int, step: int, limit: int, round: int) -> Request:
    prefix = episode.segments[:kept]
    left, marked = limit - sum(map(len, prefix)), bool(episode.request.marks)
    return dataclasses.replace(
        episode.request,
        prefix=prefix,
        max_new=left if marked else min(step, left),
        pauses=marked or left > step,
        parent=prefix[-1].node if prefix else "",
        fork=len(prefix[-1]) if prefix else 0,
        round=round,
    )


def behind_reply(episode: Episode, width: int, *, first: int, round: int) -> list[Request]:
    """`width` requests for the turn behind the last reply of an answer that halts there; none where a limit is used up.
    Replies count towards the limit, unless they have one of their own.
    """
    request, own = episode.request, episode.segments[len(episode.request.prefix) :]
    replies = request.max_replies - sum(len(segment) for segment in own if segment.is_reply)
    if (left := left_of(episode)) < 1 or (request.max_replies and replies < 1):
        return []
    node = node_of(episode.segments)
    changes: dict[str, Any] = {
        "prefix": episode.segments,
        "max_new": left,
        "max_replies": replies if request.max_replies else 0,
        "parent": node,
        "fork": next(len(segment) for segment in episode.segments if segment.node == node),
        "round": round,
    }
    return [dataclasses.replace(request, **changes, sample=first + i) for i in range(width)]
