"""Trees of answers: a branch goes on from within an answer that exists already.

A branch's prefix is made of the segments of the answers before it, so that every sampled token belongs to one node, the
request that sampled it, and branches of one place ask for one prompt, which the engine runs once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.ask import Codec
from assay.errors import ConfigError
from assay.memory import Memory
from assay.part import Expansion
from assay.rng import Key
from assay.types import Episode, Origin, Request, first_tokens


def branch(episode: Episode, at: int, *, sample: int) -> Request:
    """A request that goes on from before token `at` of an answer, which is sampled anew, up to the answer's limit."""
    request, ends = episode.request, np.cumsum([len(segment) for segment in episode.segments])
    segment = episode.segments[index := int(np.searchsorted(ends, at, side="right"))]
    limit = request.given + request.max_new
    return dataclasses.replace(
        request,
        prefix=first_tokens(episode.segments, at),
        max_new=limit - at,
        parent=segment.node,
        fork=at - int(ends[index]) + len(segment),
        sample=sample,
        round=request.round + 1,
    )


def trees(episodes: Sequence[Episode]) -> dict[str, list[Episode]]:
    """The episodes that grew from one trunk, by the trunk's id, in order of appearance."""
    root_of: dict[str, str] = {}
    grown: dict[str, list[Episode]] = {}
    for episode in episodes:
        request = episode.request
        root = root_of.get(request.parent, request.id)
        root_of |= {segment.node: root for segment in episode.segments[len(request.prefix) :]}
        grown.setdefault(root, []).append(episode)
    return grown


def fork(
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    codec: Codec,
    places: int,
    branches: int,
    rounds: int,
    by: Literal["entropy", "surprisal", "random"],
    among: int,
    skip: int,
    letters: int,
    until: tuple[str, ...],
) -> list[Request]:
    """`branches` requests from each of `places` tokens of every tree that has forked less than `rounds` times.

    A tree without a possible place forks at its root, where the policy began to write; one of which it wrote nothing
    does not fork.
    """
    if min(places, branches, rounds, among, skip) < 0:
        raise ConfigError(
            "fork: places, branches, rounds, among and skip are counts, not "
            f"{places}, {branches}, {rounds}, {among} and {skip}; branches 0 forks nowhere."
        )
    taken: dict[str, int] = {}
    for episode in episodes:
        taken[episode.request.group] = 1 + max(taken.get(episode.request.group, -1), episode.request.sample)
    asked = []
    for root, members in trees([e for e in episodes if e.provenance == "fresh"]).items():
        done = max(episode.request.round for episode in members)
        if done >= rounds or places * branches == 0:
            continue
        key = memory.key("fork", memory.step, root, done)
        found = [place for episode in members for place in _places(episode, codec, by, skip, until)]
        found = [place for place in found if place.letters >= letters] or found
        chosen = _chosen([place.score for place in found], places, among, by, key)
        group = members[0].request.group
        for place in [found[i] for i in chosen] or _root(members[0]):
            for _ in range(branches):
                request = branch(place.episode, place.at, sample=taken[group])
                asked.append(dataclasses.replace(request, round=done + 1))
                taken[group] += 1
    return asked


@dataclass(frozen=True)
class Fork(Expansion):
    """Every tree forks at uncertain tokens: by the entropy there, by how surprising the token was, or anywhere."""

    continues = True

    places: int = 1  # of a tree, in a round
    branches: int = 3  # from each place
    rounds: int = 1
    by: Literal["entropy", "surprisal", "random"] = "entropy"
    among: int = 20  # the places are drawn from so many of the highest
    skip: int = 1  # first tokens of a trunk that are no places; the first token of a branch never is one
    letters: int = 2  # a place holds a token of so many letters, if any token of the tree is that long
    until: tuple[str, ...] = ()  # a token with one of these in it is the last place of its answer
    does = fork


@dataclass(frozen=True)
class _Place:
    """A token where a tree may fork."""

    episode: Episode
    at: int
    score: float = 0.0
    letters: int = 0


def _root(trunk: Episode) -> list[_Place]:
    """Before the first token that its own request sampled: what was given belongs to no node."""
    given = trunk.request.given
    return [_Place(trunk, given)] if len(trunk) > given else []


def _places(episode: Episode, codec: Codec, by: str, skip: int, until: tuple[str, ...]) -> Iterator[_Place]:
    """Tokens of the episode's own node where the policy could have gone on otherwise."""
    ids, origin, start = episode.stream("ids"), episode.stream("origin"), episode.request.given
    score = {"entropy": episode.stream("entropy"), "surprisal": -episode.stream("old")}.get(by, np.zeros(len(ids)))
    first = start + (1 if start else skip)
    for at in range(start, len(ids)):
        text = codec.decode([int(ids[at])])
        if at >= first and origin[at] == Origin.POLICY and int(ids[at]) not in codec.end_ids:
            yield _Place(episode, at, float(score[at]), len(text.strip()))
        if any(mark in text.lower() for mark in until):
            return


def _chosen(scores: Sequence[float], places: int, among: int, by: str, key: Key) -> list[int]:
    """`places` indices, drawn without return from those of the `among` highest scores."""
    random = key.generator()
    drawn = random.permutation(len(scores)) if by == "random" else np.argsort(-np.array(scores), kind="stable")
    best = drawn[: max(among, places)]
    return sorted(random.choice(best, size=min(places, len(best)), replace=False).tolist())
