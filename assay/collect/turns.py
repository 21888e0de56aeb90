"""Answers in turns: where a task has an environment, what it replies is appended and the policy goes on from there.

Ids are appended and never encoded again: the policy's are those it sampled, a reply's are encoded once, by themselves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np

from assay.ask import Codec
from assay.models import Models
from assay.rng import Key
from assay.tasks import task
from assay.types import Episode, Origin, Request, Segment


def generate(models: Models, requests: Sequence[Request], key: Key, codec: Codec) -> list[Episode]:
    """An episode for each request, in their order, up to its end or to the next reply of its environment (`pause`).

    A request for no new tokens is answered by its prefix alone.
    """
    found: dict[int, Episode] = {}
    for role in dict.fromkeys(request.role for request in requests):
        places = [i for i, request in enumerate(requests) if request.role == role]
        asking = [i for i in places if requests[i].max_new > 0]
        for i, made in zip(asking, models.play(role).generate([requests[i] for i in asking], key) if asking else []):
            written = dataclasses.replace(made.segment, node=requests[i].id, parent=requests[i].parent)
            segments = (*requests[i].prefix, written)
            finish = "pause" if requests[i].pauses and made.finish == "length" else made.finish
            episode = Episode(requests[i], segments, finish, text=text_of(segments, codec))
            found[i] = _replied(episode, codec) if made.finish == "stop" else episode
        for i in places:
            if requests[i].max_new == 0:
                found[i] = _given(requests[i], codec)
    return [found[i] for i in range(len(requests))]


def _given(request: Request, codec: Codec) -> Episode:
    """What a teacher wrote in part or whole is the teacher's; what the policy wrote once is replayed, unless its
    log-probs are known: then it stands for what the policy would write now.
    """
    episode = Episode(request, request.prefix, "stop", text=text_of(request.prefix, codec))
    origin = episode.stream("origin")
    if (origin == Origin.INJECTED).any():
        return dataclasses.replace(episode, provenance="teacher")
    if np.isnan(episode.stream("old")[origin == Origin.POLICY]).any():
        return dataclasses.replace(episode, provenance="replay")
    return episode if _ended(episode, codec) else dataclasses.replace(episode, finish="length")


def whole(models: Models, requests: Sequence[Request], key: Key, codec: Codec) -> list[Episode]:
    """An episode for each request, in their order, with all their turns."""
    with models.keeping() if any(map(in_turns, requests)) else nullcontext():
        found = dict(enumerate(generate(models, requests, key, codec)))
        while paused := [i for i, episode in found.items() if episode.finish == "pause"]:
            further = generate(models, [going_on(found[i]) for i in paused], key, codec)
            for i, episode in zip(paused, further, strict=True):
                found[i] = dataclasses.replace(episode, request=requests[i])
    return [found[i] for i in range(len(requests))]


def in_turns(request: Request) -> bool:
    """Whether there is an environment that may reply within its answer."""
    return bool(request.stop) and task(request.problem.task).environment is not None


def halted(episode: Episode) -> bool:
    """It waits at the boundary of its request, not for its next turn: nobody goes on but who asks for it."""
    return episode.finish == "pause" and episode.segments[-1].origin[-1] == Origin.POLICY


def going_on(episode: Episode) -> Request:
    """What a paused episode asks for next: as many tokens as its request leaves, replies counted."""
    request = episode.request
    left = request.max_new - (len(episode) - request.given)
    return dataclasses.replace(request, prefix=episode.segments, max_new=left, parent=_node(episode))


def _node(episode: Episode) -> str:
    return next((s.node for s in reversed(episode.segments) if s.node), episode.request.parent)


def _replied(episode: Episode, codec: Codec) -> Episode:
    """With the reply of the environment, if what was written asks for one and there is room for another token."""
    problem = episode.request.problem
    if not episode.request.stop or _ended(episode, codec):
        return episode
    environment = task(problem.task).environment
    if environment is None:
        return episode
    reply = environment.reply(problem.spec, episode.text)
    if reply is None:
        return episode
    ids = codec.encode(reply)
    segment = Segment(ids=ids, origin=np.full(len(ids), Origin.ENV, np.int8), failed=environment.failed(reply))
    segments = (*episode.segments, segment)
    if sum(len(s) for s in segments) - episode.request.given >= episode.request.max_new:
        return dataclasses.replace(episode, finish="length")
    return dataclasses.replace(episode, segments=segments, finish="pause", text=text_of(segments, codec))


def _ended(episode: Episode, codec: Codec) -> bool:
    ids = episode.stream("ids")
    return len(ids) > 0 and int(ids[-1]) in codec.end_ids


def text_of(segments: Sequence[Segment], codec: Codec) -> str:
    """The text of an answer, without the end tokens after it."""
    ids = [token for segment in segments for token in segment.ids.tolist()]
    while ids and ids[-1] in codec.end_ids:
        ids.pop()
    return codec.decode(ids)
