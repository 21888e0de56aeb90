"""Each problem is first answered greedily, and only those that the greedy answer fails are worked on."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.part import Asking, Expansion
from assay.types import Episode, Request, by_group

if TYPE_CHECKING:
    from assay.ask import Sampling

PROBE = "greedy"


def greedy_probe(requests: Sequence[Request]) -> list[Request]:
    """One greedy request for each group, in a group of its own."""
    return [
        dataclasses.replace(group.members[0], temperature=0.0, group=f"{name}/{PROBE}", tag=PROBE)
        for name, group in by_group(requests).items()
    ]


class GreedyProbe(Asking):
    """Asks for one greedy answer to each problem; the part `after-failure` asks for the answers that train (SELF
    2510.02230).
    """

    does = greedy_probe


def after_failure(episodes: Sequence[Episode], *, sampling: Sampling, group_size: int) -> list[Request]:
    """A group of sampled answers to each problem whose greedy answer is wrong; none where an error of ours lost it."""
    asked = {episode.request.group for episode in episodes}
    result = []
    for episode in episodes:
        request, verdict = episode.request, episode.verdict
        group = request.group.removesuffix(f"/{PROBE}")
        if request.tag != PROBE or group in asked or verdict is None or verdict.status != "fail":
            continue
        place = {"group": group, "tag": "", "temperature": sampling.temperature, "round": request.round + 1}
        result += [dataclasses.replace(request, **place, sample=sample) for sample in range(group_size)]
    return result


class AfterFailure(Expansion):
    """Asks for a group of answers to each problem that `greedy-probe` found unsolved (SELF 2510.02230)."""

    does = after_failure
    needs_verdict = True
