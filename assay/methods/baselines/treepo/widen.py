"""A tree of segments that splits at every boundary, up to so many answers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from assay.ask.first_steps import first_of
from assay.collect.steps import again_from, given_first, limit_of, next_steps, nodes_of
from assay.memory import Memory
from assay.part import Asking, Count, Expansion
from assay.types import Episode, Request, by_group


def first_split(
    requests: Sequence[Request],
    memory: Memory,
    *,
    group_size: int,
    fewest: int,
    most: int,
    depth: int,
    least: int,
) -> list[Request]:
    """From `fewest` to `most` requests for first segments of each group, at most `group_size`, by chance."""

    def count(request: Request) -> int:
        drawn = memory.key("first-split", memory.step, request.group).generator().integers(fewest, most + 1)
        return min(int(drawn), group_size)

    return first_of(requests, count, depth=depth, least=least)


class FirstSplit(Asking):
    """Asks for a random number of first segments of each group (TreePO 2508.17445).

    A segment is one of `depth` equal parts of the answer limit, but has `least` tokens or more.

        ask=(FirstSplit(fewest=2, most=8),)
        --mechanism.ask first-split --mechanism.ask.0.most 8
    """

    fewest: Count = 2  # first segments
    most: int = 8
    depth: Count = 14
    least: Count = 4
    does = first_split

    def refusal(self, **_: Any) -> str | None:
        if self.fewest <= self.most:
            return None
        return f"first-split: fewest must be at most most, and is {self.fewest}, where most is {self.most}."


def widen(
    episodes: Sequence[Episode], memory: Memory, *, group_size: int, max_new: int, branches: int
) -> list[Request]:
    """Requests for the next segments of each tree, until it has `group_size` answers."""
    asked: list[Request] = []
    for group in by_group([episode for episode in episodes if episode.provenance == "fresh"]).values():
        root = group.members[0].request
        if not root.pauses:  # a group that was not asked for a first segment
            continue
        followed = {episode.request.parent for episode in group.members}
        ended = [episode for episode in group.members if episode.finish != "pause"]
        live = [e for e in group.members if e.finish == "pause" and e.segments[-1].node not in followed]
        nodes, step = nodes_of(group.members), root.max_new
        about = {"round": 1 + max(episode.request.round for episode in group.members)}
        first = len(group.members)
        if not live:
            places = _places([e for e in ended if e.finish != "error"], nodes)
            key = memory.key("widen", memory.step, root.group, about["round"]).generator()
            for _ in range(group_size - len(ended) if places else 0):
                episode, kept = places[int(key.integers(len(places)))]
                limit = limit_of(episode, nodes, max_new)
                asked.append(again_from(episode, kept, step, limit, sample=first, **about))
                first += 1
        for episode, width in zip(live, widths(len(live), len(ended), branches, group_size), strict=True):
            limit = limit_of(episode, nodes, max_new)
            asked += next_steps(episode, width, step, limit, first=first, **about)
            first += width
    return asked


class Widen(Expansion):
    """After each segment every path splits, until a tree has as many answers as a group; paths that have ended leave
    their share to the others, and at last others branch off from them (TreePO 2508.17445).

        expand=(Widen(branches=2),)
        --mechanism.expand widen --mechanism.expand.0.branches 2
    """

    continues = True

    branches: Count = 2  # of each path at each boundary, as long as there are fewer answers than wanted
    does = widen


def widths(live: int, ended: int, branches: int, leaves: int) -> list[int]:
    """How often each live path splits: all paths become `branches` times as many, at most `leaves`. Paths that ended
    do not split; the live paths share the rest as equally as possible, and none of them ends here.
    """
    wanted = max(live, min(leaves, branches * (live + ended)) - ended)
    return [wanted // live + (i < wanted % live) for i in range(live)]


def _places(ended: Sequence[Episode], nodes: Collection[str]) -> list[tuple[Episode, int]]:
    """(answer, number of segments to keep) of all boundaries within these answers, their beginnings included."""
    return [(e, kept) for e in ended for kept in range(given_first(e, nodes), len(e.segments))]
