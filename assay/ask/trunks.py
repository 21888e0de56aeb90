"""Trunks: a group whose further rows grow from its first ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.memory import Memory
from assay.part import Asking
from assay.types import Request


def trunks(requests: Sequence[Request], memory: Memory, *, group_size: int, share: float) -> list[Request]:
    """The first round(share * group_size) samples of each group, at least one."""
    if share <= 0:
        raise ConfigError(f"trunks: share must be above 0, not {share}; 1 asks for all rows of a group, none branches.")
    groups: dict[str, list[Request]] = {}
    for request in requests:
        groups.setdefault(request.group, []).append(request)
    count = max(1, round(share * group_size))
    return [
        dataclasses.replace(members[i % len(members)], sample=i) for members in groups.values() for i in range(count)
    ]


@dataclass(frozen=True)
class Trunks(Asking):
    """Ask for this share of a group only: its other rows branch off from what comes of these."""

    share: float = 0.25
    does = trunks
