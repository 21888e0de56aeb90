"""Answers in turns: if the task has an environment, its reply is appended to the answer and the policy continues.

Token ids are appended and never encoded again: the policy's tokens stay as they were sampled, and a reply is encoded
once, by itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from assay.ask import Codec
from assay.memory import Promised
from assay.models import Models
from assay.rng import Key
from assay.tasks import task
from assay.types import Episode, Origin, Request, Segment, Verdict, changed

if TYPE_CHECKING:
    from assay.engine.interface import Generation


def generate(
    models: Models,
    requests: Sequence[Request],
    key: Key,
    codec: Codec,
    done: Callable[[int, Episode], None] = lambda place, episode: None,
) -> list[Episode]:
    """An episode for each request, in the same order, up to its end or to the next reply of the environment (`pause`).

    The answer to a request for 0 new tokens is its prefix. `done(place, episode)` is called once for each request, soon
    after its episode is there.
    """
    episodes: dict[int, Episode] = {}

    def take(place: int, episode: Episode) -> None:
        episodes[place] = episode
        done(place, episode)

    for place, request in enumerate(requests):
        if request.max_new == 0:
            take(place, _given(request, codec))
    for role, asking in _asked(requests).items():

        def written(i: int, made: Generation, asking: Sequence[int] = asking) -> None:
            take(asking[i], _written(requests[asking[i]], made, codec))

        models.play(role).generate([requests[i] for i in asking], key, done=written)
    return [episodes[i] for i in range(len(requests))]


def send(models: Models, requests: Sequence[Request], key: Key, codec: Codec) -> Promised:
    """The answers of `generate`, written by the present weights while the caller does something else."""
    asked = _asked(requests)
    tickets = {role: models.play(role).submit([requests[i] for i in asked[role]], key) for role in asked}

    def land() -> list[Episode]:
        found = {place: _given(request, codec) for place, request in enumerate(requests) if request.max_new == 0}
        for role, ticket in tickets.items():
            made = zip(asked[role], ticket.wait(), strict=True)
            found |= {place: _written(requests[place], generation, codec) for place, generation in made}
        return [found[place] for place in range(len(requests))]

    return Promised(len(requests), land)


def _asked(requests: Sequence[Request]) -> dict[str, list[int]]:
    """Role -> the places of its requests for new tokens."""
    roles: dict[str, list[int]] = {}
    for place, request in enumerate(requests):
        if request.max_new > 0:
            roles.setdefault(request.role, []).append(place)
    return roles


def _written(request: Request, made: Generation, codec: Codec) -> Episode:
    """The episode with the generated tokens, and with the environment's reply to them. An answer that the sampler
    failed to generate has its verdict at once, and no verifier sees it.
    """
    segments = (*request.prefix, *_nodes(request, made))
    finish = "pause" if request.pauses and not request.marks and made.finish == "length" else made.finish
    episode = Episode(request, segments, finish, text=text_of(segments, codec))
    if made.finish == "error":
        verdict = Verdict.invalid(made.kind or "generation", made.detail or "the sampler failed")
        return dataclasses.replace(episode, verdict=verdict)
    if made.finish != "stop":
        return episode
    if codec.stops and not _ended(episode, codec):
        episode = dataclasses.replace(episode, text=_before_stop(episode.text, codec))
    replied = _replied(episode, codec)
    waits = replied is episode and request.pauses and _marked(episode, codec)
    return dataclasses.replace(episode, finish="pause") if waits else replied


def _marked(episode: Episode, codec: Codec) -> bool:
    """Whether the last token of the answer has one of the marks of its request."""
    last = int(episode.segments[-1].ids[-1])
    return last not in codec.end_ids and any(mark in codec.decode([last]) for mark in episode.request.marks)


def _nodes(request: Request, made: Generation) -> list[Segment]:
    """The generated tokens as nodes of a tree: one, or a chain with one for each version of the policy that wrote."""
    nodes, parent = [], request.parent
    for place, segment in enumerate(made.spans or (made.segment,)):
        node = f"{request.id}/{place}" if place else request.id
        nodes.append(changed(segment, node=node, parent=parent))
        parent = node
    return nodes


def _given(request: Request, codec: Codec) -> Episode:
    """The episode whose answer is the prefix of its request. Its provenance is `teacher` if others wrote a token of it,
    and `replay` if the policy wrote it and the log-probs are not known. Otherwise it counts as fresh.
    """
    episode = Episode(request, request.prefix, "stop", text=text_of(request.prefix, codec))
    origin = episode.stream("origin")
    if (origin == Origin.INJECTED).any():
        return dataclasses.replace(episode, provenance="teacher")
    if np.isnan(episode.stream("old")[origin == Origin.POLICY]).any():
        return dataclasses.replace(episode, provenance="replay")
    return episode if _ended(episode, codec) else dataclasses.replace(episode, finish="length")


def whole(models: Models, requests: Sequence[Request], key: Key, codec: Codec) -> list[Episode]:
    """An episode for each request, in the same order, with all its turns."""
    with models.keeping() if any(map(in_turns, requests)) else nullcontext():
        found = dict(enumerate(generate(models, requests, key, codec)))
        while paused := [i for i, episode in found.items() if episode.finish == "pause"]:
            further = generate(models, [going_on(found[i]) for i in paused], key, codec)
            for i, episode in zip(paused, further, strict=True):
                found[i] = dataclasses.replace(episode, request=requests[i])
    return [found[i] for i in range(len(requests))]


def in_turns(request: Request) -> bool:
    """Whether the task of this request has an environment that may reply within the answer."""
    return bool(request.stop) and task(request.problem.task).environment is not None


def halted(episode: Episode) -> bool:
    """Whether the episode paused because its request `pauses` at the token limit or at a mark, not for a reply. Only a
    part of `expand` continues such an episode.
    """
    return episode.finish == "pause" and episode.segments[-1].origin[-1] == Origin.POLICY


def going_on(episode: Episode) -> Request:
    """The request that continues a paused episode, for the tokens that its limit leaves; replies count towards it."""
    request = episode.request
    left = request.max_new - (len(episode) - request.given)
    return dataclasses.replace(request, prefix=episode.segments, max_new=left, parent=_node(episode))


def _node(episode: Episode) -> str:
    """The node of the last segment that has one."""
    return next((s.node for s in reversed(episode.segments) if s.node), episode.request.parent)


def _replied(episode: Episode, codec: Codec) -> Episode:
    """The episode with the environment's reply, if the answer calls for one and the limit leaves a token after it."""
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


def _before_stop(text: str, codec: Codec) -> str:
    """The text before the last of the texts that end answers: such a text is no part of the answer. A token may hold
    one of these texts, or several, with more after it.
    """
    places = [place for stop in codec.stops if (place := text.rfind(stop)) >= 0]
    text = text[: max(places)] if places else text
    while ending := next((stop for stop in codec.stops if text.endswith(stop)), None):
        text = text.removesuffix(ending)
    return text


def _ended(episode: Episode, codec: Codec) -> bool:
    """Whether the answer ends with an end token."""
    ids = episode.stream("ids")
    return len(ids) > 0 and int(ids[-1]) in codec.end_ids


def text_of(segments: Sequence[Segment], codec: Codec) -> str:
    """The text of an answer, without end tokens at its end."""
    ids = [token for segment in segments for token in segment.ids.tolist()]
    while ids and ids[-1] in codec.end_ids:
        ids.pop()
    return codec.decode(ids)
