"""Trees of answers: a branch continues an existing answer from one of its tokens.

The prefix of a branch consists of segments of the answer that it leaves. So every sampled token belongs to one node,
the request that sampled it. Branches from one place have the same prompt and prefix, which the engine runs only once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.ask import Codec
from assay.memory import Memory
from assay.part import Expansion
from assay.rng import Key
from assay.types import Episode, Origin, Request, first_tokens


def branch(episode: Episode, at: int, *, sample: int) -> Request:
    """A request that keeps the first `at` tokens of an answer and samples the rest again, within the answer's limit."""
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
    """Id of a trunk -> the episodes that grew from this trunk, itself included, in their order."""
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

    A tree without a token where it may fork does so before the first token that the policy wrote. A tree in which the
    policy wrote nothing does not fork.
    """
    taken: dict[str, int] = {}
    for episode in episodes:
        taken[episode.request.group] = 1 + max(taken.get(episode.request.group, -1), episode.request.sample)
    asked = []
    for root, members in trees([e for e in episodes if e.provenance == "fresh"]).items():
        done = max(episode.request.round for episode in members)
        if done >= rounds or places * branches == 0:
            continue
        key = memory.key("fork", memory.step, root, done)
        tokens = [token for episode in members for token in _places(episode, codec, by, skip, until)]
        tokens = [token for token in tokens if token.letters >= letters] or tokens
        chosen = _chosen([token.score for token in tokens], places, among, by, key)
        group = members[0].request.group
        for token in [tokens[i] for i in chosen] or _root(members[0]):
            for _ in range(branches):
                request = branch(token.episode, token.at, sample=taken[group])
                asked.append(dataclasses.replace(request, round=done + 1))
                taken[group] += 1
    return asked


class Fork(Expansion):
    """Every tree forks at uncertain tokens: those of high entropy, of low probability (surprisal), or random ones.

    expand=(Fork(places=1, branches=3, by="entropy"),)
    --mechanism.expand fork --mechanism.expand.0.places 1 --mechanism.expand.0.by entropy
    """

    continues = True

    places: int = 1  # number of tokens at which a tree forks in a round
    branches: int = 3  # number of branches from each of these tokens; 0: nothing forks
    rounds: int = 1  # how often a tree forks
    by: Literal["entropy", "surprisal", "random"] = "entropy"  # the score of a token
    among: int = 20  # the places are drawn at random among this many tokens with the highest scores
    skip: int = 1  # the first tokens of a trunk where it does not fork; a branch never forks at its first token
    letters: int = 2  # forks only at tokens of at least this many letters, if the tree has any
    until: tuple[str, ...] = ()  # an answer does not fork after a token that contains one of these texts
    does = fork


@dataclass(frozen=True)
class _Place:
    """A token where a tree may fork."""

    episode: Episode
    at: int
    score: float = 0.0
    letters: int = 0


def _root(trunk: Episode) -> list[_Place]:
    """The place before the first sampled token of a trunk; none if nothing was sampled. A given prefix has no node."""
    given = trunk.request.given
    return [_Place(trunk, given)] if len(trunk) > given else []


def _places(episode: Episode, codec: Codec, by: str, skip: int, until: tuple[str, ...]) -> Iterator[_Place]:
    """The tokens that this episode's own request sampled and at which a tree may fork."""
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
    """`places` different indices, drawn at random from those of the `among` highest scores."""
    random = key.generator()
    drawn = random.permutation(len(scores)) if by == "random" else np.argsort(-np.array(scores), kind="stable")
    best = drawn[: max(among, places)]
    return sorted(random.choice(best, size=min(places, len(best)), replace=False).tolist())
