"""Anchors: how much of the worked solution the policy must be given before it sometimes succeeds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any

from assay.ask import Codec
from assay.ask.hints import lines_of, written_by_others
from assay.part import Count, Expansion, Within
from assay.types import Episode, Problem, Request

ANCHOR = "anchor"


def anchor_search(
    episodes: Sequence[Episode], *, codec: Codec, pieces: int, low: float, high: float, probes: int
) -> list[Request]:
    """Requests for a further group of each problem whose search goes on, with the next number of pieces as prefix."""
    asked: list[Request] = []
    for members in _by_problem(episodes).values():
        base = members[0]
        if any(e.right for e in base) or not any(_judged(e) for e in base):
            continue
        request = base[0].request
        parts = pieces_of(request.problem, pieces)
        anchored = [group for group in members[1:] if group[0].request.tag.startswith(ANCHOR)]
        shares = {int(group[0].request.tag.split()[-1]): _share(group) for group in anchored}
        if len(shares) < probes and (count := next_count(shares, len(parts) - 1, low, high)):
            prefix = tuple(written_by_others(codec.encode(text)) for text in parts[:count])
            left = max(1, request.max_new - sum(map(len, prefix)))
            group, tag = f"{request.group}/{ANCHOR} {count}", f"{ANCHOR} {count}"
            changes = {"prefix": prefix, "max_new": left, "group": group, "tag": tag, "round": request.round + 1}
            asked += [dataclasses.replace(e.request, **changes) for e in base]
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


def _by_problem(episodes: Sequence[Episode]) -> dict[str, list[list[Episode]]]:
    """For each problem, the group that began at the question, then the groups that began with a prefix."""
    found: dict[str, dict[str, list[Episode]]] = {}
    for episode in episodes:
        group = episode.request.group
        found.setdefault(base_of(group), {}).setdefault(group, []).append(episode)
    return {base: [members[base], *(m for n, m in members.items() if n != base)] for base, members in found.items()}


def base_of(group: str) -> str:
    """The name of the group of the same problem that began at the question."""
    return group.split(f"/{ANCHOR}")[0]


def _judged(episode: Episode) -> bool:
    return episode.verdict is not None and episode.verdict.status != "invalid"


def _share(members: Sequence[Episode]) -> float:
    judged = [e for e in members if _judged(e)]
    return sum(e.right for e in judged) / max(1, len(judged))
