"""Answers of a round: each request with the tokens that a sampler wrote for it. `assay.collect.plays` replies."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.ask import Codec
from assay.collect.acting import actor_of, of_numbers, walked
from assay.memory import Promised
from assay.models import Models
from assay.rng import Key
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
    """An episode for each request, in the same order, up to where the sampler stopped.

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

        def acted(i: int, episode: Episode, asking: Sequence[int] = asking) -> None:
            take(asking[i], episode)

        asked = [requests[i] for i in asking]
        if any(map(of_numbers, asked)):
            walked(actor_of(models.play(role)), asked, key, codec, acted)
        else:
            models.play(role).generate(asked, key, done=written)
    return [episodes[i] for i in range(len(requests))]


def send(
    models: Models,
    requests: Sequence[Request],
    key: Key,
    codec: Codec,
    firsts: Sequence[Request],
    lost: Mapping[int, Verdict],
) -> Promised:
    """The answers of `generate`, written by the present weights while the caller does something else. They are kept as
    answers to `firsts`, the requests with which their plays begin; `lost`: the places of those whose play cannot begin.
    """
    asked = _asked(requests)
    tickets = {role: models.play(role).submit([requests[i] for i in asked[role]], key) for role in asked}

    def land() -> list[Episode]:
        answers = {i: _given(request, codec) for i, request in enumerate(requests) if request.max_new == 0}
        for role, ticket in tickets.items():
            made = zip(asked[role], ticket.wait(), strict=True)
            answers |= {i: _written(requests[i], generation, codec) for i, generation in made}
        answers |= {i: changed(answers[i], finish="error", verdict=verdict) for i, verdict in lost.items()}
        return [changed(answers[i], request=first) for i, first in enumerate(firsts)]

    return Promised(len(requests), land)


def _asked(requests: Sequence[Request]) -> dict[str, list[int]]:
    """Role -> the places of its requests for new tokens."""
    roles: dict[str, list[int]] = {}
    for place, request in enumerate(requests):
        if request.max_new > 0:
            roles.setdefault(request.role, []).append(place)
    return roles


def _written(request: Request, made: Generation, codec: Codec) -> Episode:
    """The episode with the generated tokens. An answer that the sampler failed to generate has its verdict at once, and
    no verifier sees it.
    """
    segments = (*request.prefix, *_nodes(request, made))
    finish = "pause" if request.pauses and not request.marks and made.finish == "length" else made.finish
    episode = Episode(request, segments, finish, text=text_of(segments, codec))
    if made.finish == "error":
        verdict = Verdict.invalid(made.kind or "generation", made.detail or "the sampler failed")
        return dataclasses.replace(episode, verdict=verdict)
    if made.finish != "stop":
        return episode
    if codec.stops:
        episode = dataclasses.replace(episode, text=without_stop(episode, codec))
    waits = request.pauses and not ended_by_token(episode, codec) and _marked(episode, codec)
    return dataclasses.replace(episode, finish="pause") if waits else episode


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
    return episode if ended_by_token(episode, codec) else dataclasses.replace(episode, finish="length")


def without_stop(episode: Episode, codec: Codec) -> str:
    """The text of an answer before the last of the texts that end answers, which is no part of it. A token may hold one
    of these texts, or several, with more after it. An answer that an end token ended is whole.
    """
    if ended_by_token(episode, codec):
        return episode.text
    places = [place for stop in codec.stops if (place := episode.text.rfind(stop)) >= 0]
    text = episode.text[: max(places)] if places else episode.text
    while ending := next((stop for stop in codec.stops if text.endswith(stop)), None):
        text = text.removesuffix(ending)
    return text


def ended_by_token(episode: Episode, codec: Codec) -> bool:
    """Whether the answer ends with an end token."""
    ids = episode.stream("ids")
    return len(ids) > 0 and int(ids[-1]) in codec.end_ids


def text_of(segments: Sequence[Segment], codec: Codec) -> str:
    """The text of an answer, without end tokens at its end."""
    ids = [token for segment in segments for token in segment.ids.tolist()]
    while ids and ids[-1] in codec.end_ids:
        ids.pop()
    return codec.decode(ids)
