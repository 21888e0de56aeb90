"""What to generate next, given the answers so far."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.part import Expansion
from assay.types import Episode, Request, by_group


def again(episodes: Sequence[Episode], *, group_size: int, most: int) -> list[Request]:
    """Of each group that has no right answer and has not been asked again: its first `most` requests once more."""
    missed = [g.members for g in by_group(episodes).values() if len(g.members) <= group_size and not any(g.right)]
    return [
        dataclasses.replace(episode.request, sample=group_size + number)
        for members in missed
        for number, episode in enumerate(members[:most])
    ]


class MyMethod(Expansion):
    """Fill in: what is generated after the first answers (and the arXiv id). Here unsolved problems get one more."""

    most: int = 1  # further answers to a problem
    does = again
