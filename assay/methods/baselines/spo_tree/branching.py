"""A tree of segments with a fixed number of levels, the last of which goes to the end of the answers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from assay.ask.first_steps import first_of
from assay.collect.steps import limit_of, next_steps, nodes_of
from assay.part import Asking, Count, Expansion
from assay.types import Episode, Request, by_group


def shared_out(leaves: int, levels: int) -> list[int]:
    """The numbers of leaves of the fewest branches b with b^levels >= leaves, as equal as possible."""
    branches = next(b for b in itertools.count(1) if b**levels >= leaves)
    return [leaves // branches + (i < leaves % branches) for i in range(branches)]


def first_branches(
    requests: Sequence[Request], *, group_size: int, levels: int, depth: int, least: int
) -> list[Request]:
    """Requests for the first segments of a tree of `group_size` leaves."""
    return first_of(requests, lambda _: len(shared_out(group_size, levels)), depth=depth, least=least)


class FirstBranches(Asking):
    """Asks for the first segments of a tree that `grow-branches` grows (SPO-tree 2505.23564).

    A segment is one of `depth` equal parts of the answer limit, but has `least` tokens or more.

        ask=(FirstBranches(levels=3),)
        --mechanism.ask first-branches --mechanism.ask.0.levels 3
    """

    levels: Count = 3  # how often an answer branches, from its beginning on, as in `grow-branches`; with 1, not at all
    depth: Count = 35
    least: Count = 4
    does = first_branches


def grow_branches(episodes: Sequence[Episode], *, group_size: int, max_new: int, levels: int) -> list[Request]:
    """Requests for the branches after every paused segment. Branches of the last level go to the end of the answer."""
    asked: list[Request] = []
    for group in by_group([episode for episode in episodes if episode.provenance == "fresh"]).values():
        below: dict[str, list[Episode]] = {}
        nodes = nodes_of(group.members)
        for episode in group.members:
            above = episode.request.parent
            below.setdefault(above if above in nodes else "", []).append(episode)
        first, number = len(group.members), 1 + max(episode.request.round for episode in group.members)
        step = below[""][0].request.max_new
        for episode, leaves, left in _open(below, "", group_size, levels):
            limit = limit_of(episode, nodes, max_new)
            last = left == 1 or limit - len(episode) <= step
            width = leaves if last else len(shared_out(leaves, left))
            asked += next_steps(episode, width, limit if last else step, limit, first=first, round=number)
            first += width
    return asked


class GrowBranches(Expansion):
    """Each segment that pauses gets several branches. After the last level the tree has as many leaves as a group has
    answers (SPO-tree 2505.23564).

        expand=(GrowBranches(levels=3),)
        --mechanism.expand grow-branches --mechanism.expand.0.levels 3
    """

    continues = True

    levels: Count = 3  # how often an answer branches, from its beginning on; as in `first-branches`
    does = grow_branches


def _open(
    below: Mapping[str, Sequence[Episode]], node: str, leaves: int, levels: int
) -> Iterator[tuple[Episode, int, int]]:
    """(episode, leaves that it is to have, levels left) of each paused segment below a node, without branches."""
    if levels < 1:
        return
    branches = sorted(below.get(node, ()), key=lambda episode: episode.request.sample)
    for episode, share in zip(branches, shared_out(leaves, levels), strict=False):
        own = episode.segments[-1].node if episode.segments else ""
        if episode.finish != "pause":
            continue
        if own in below:
            yield from _open(below, own, share, levels - 1)
        else:
            yield episode, share, levels - 1
