"""What to generate next, given the answers so far."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.part import Expansion
from assay.types import Episode, Request


def again(episodes: Sequence[Episode], *, group_size: int, most: int) -> list[Request]:
    """Of each group that has no right answer and has not been asked again: its first `most` requests once more."""
    groups: dict[str, list[Episode]] = {}
    for episode in episodes:
        groups.setdefault(episode.request.group, []).append(episode)
    missed = [group for group in groups.values() if len(group) <= group_size and not any(e.right for e in group)]
    return [
        dataclasses.replace(episode.request, sample=group_size + number)
        for group in missed
        for number, episode in enumerate(group[:most])
    ]


class MyMethod(Expansion):
    """Fill in: what is generated after the first answers (and the arXiv id). Here unsolved problems get one more."""

    most: int = 1  # further answers to a problem
    does = again
