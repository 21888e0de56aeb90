"""Anchors: how much of the worked solution the policy must be given before it sometimes succeeds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any

from assay.ask import Codec
from assay.ask.hints import lines_of, written_by_others
from assay.part import Count, Expansion, Within
from assay.types import Episode, Group, Problem, Request, by_group

ANCHOR = "anchor"


def anchor_search(
    episodes: Sequence[Episode], *, codec: Codec, pieces: int, low: float, high: float, probes: int
) -> list[Request]:
    """Requests for a further group of each problem whose search goes on, with the next number of pieces as prefix."""
    asked: list[Request] = []
    for groups in _by_problem(episodes).values():
        base = groups[0]
        if any(base.right) or not base.right:
            continue
        request = base.members[0].request
        parts = pieces_of(request.problem, pieces)
        tags = [(group.members[0].request.tag, group) for group in groups[1:]]
        shares = {int(tag.split()[-1]): _share(group) for tag, group in tags if tag.startswith(ANCHOR)}
        if len(shares) < probes and (count := next_count(shares, len(parts) - 1, low, high)):
            prefix = tuple(written_by_others(codec.encode(text)) for text in parts[:count])
            left = max(1, request.max_new - sum(map(len, prefix)))
            group, tag = f"{request.group}/{ANCHOR} {count}", f"{ANCHOR} {count}"
            changes = {"prefix": prefix, "max_new": left, "group": group, "tag": tag, "round": request.round + 1}
            asked += [dataclasses.replace(e.request, **changes) for e in base.members]
    return asked


class AnchorSearch(Expansion):
    """A group without a right answer is asked again with a prefix of the worked solution, which is cut into `pieces`.

    A binary search over the number of pieces looks for a pass rate in [low, high] (BREAD 2506.17211).

        expand=(AnchorSearch(pieces=10),)
        --mechanism.expand anchor-search --mechanism.expand.0.pieces 10
    """

    continues = True
    solutions = "all"

    pieces: Annotated[int, Within(2)] = 10
    low: float = 0.25
    high: float = 0.75
    probes: Count = 4  # the most groups that the search for one problem asks for
    does = anchor_search
    needs_verdict = True

    def refusal(self, **_: Any) -> str | None:
        if 0 < self.low <= self.high <= 1:
            return None
        return f"anchor-search: expected 0 < low <= high <= 1; got low {self.low:g}, high {self.high:g}."


def next_count(shares: dict[int, float], most: int, low: float, high: float) -> int:
    """The number of pieces halfway between the prefixes known to be too hard and too easy; 0 when the search has
    ended.
    """
    if any(low <= share <= high for share in shares.values()):
        return 0
    first = 1 + max((count for count, share in shares.items() if share < low), default=0)
    last = min((count for count, share in shares.items() if share > high), default=most + 1) - 1
    return (first + last) // 2 if first <= last else 0


def pieces_of(problem: Problem, count: int) -> list[str]:
    """The worked solution in at most `count` pieces, each of whole steps and about equally many."""
    steps = lines_of(problem)
    count = min(count, len(steps))
    cuts = [round(i * len(steps) / count) for i in range(count + 1)]
    return ["".join(steps[a:b]) for a, b in zip(cuts, cuts[1:], strict=False)]


def _by_problem(episodes: Sequence[Episode]) -> dict[str, list[Group[Episode]]]:
    """For each problem, the group that began at the question, then the groups that began with a prefix."""
    found: dict[str, dict[str, Group[Episode]]] = {}
    for name, group in by_group(episodes).items():
        found.setdefault(base_of(name), {})[name] = group
    return {base: [members[base], *(m for n, m in members.items() if n != base)] for base, members in found.items()}


def base_of(group: str) -> str:
    """The name of the group of the same problem that began at the question."""
    return group.split(f"/{ANCHOR}")[0]


def _share(group: Group[Episode]) -> float:
    judged = group.right
    return sum(judged) / max(1, len(judged))
