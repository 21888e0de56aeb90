"""Trunks: the first answers of a group, from which the other answers of the group branch off."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.memory import Memory
from assay.part import Asking, PositiveProportion
from assay.types import Request, by_group


def trunks(requests: Sequence[Request], memory: Memory, *, group_size: int, share: float) -> list[Request]:
    """The requests for the first round(share * group_size) answers of each group, at least one."""
    count = max(1, round(share * group_size))
    return [
        dataclasses.replace(group.members[i % len(group.members)], sample=i)
        for group in by_group(requests).values()
        for i in range(count)
    ]


class Trunks(Asking):
    """Asks for only a share of each group. A part of `expand` grows the other answers from these, the trunks.

    ask=(Trunks(share=0.25),)
    --mechanism.ask trunks --mechanism.ask.0.share 0.25
    """

    share: PositiveProportion = 0.25  # of the `group_size` answers; 1: every answer of a group is a trunk
    does = trunks
