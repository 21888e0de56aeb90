"""What a posed problem is worth, by how often it was solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.methods.azr.memory import posed, solved
from assay.part import Rewarding
from assay.types import Episode, Reward


def learnability(
    episodes: Sequence[Episode], *, everyone: Sequence[Episode], invalid: float, extreme: float, lost: str
) -> list[Reward | None]:
    """None as long as no probe has a verdict."""
    result: list[Reward | None] = []
    for episode in episodes:
        if posed(episode) is None:
            result.append(Reward("learnability", invalid))
        elif right := solved(episode, everyone, lost=lost):
            share = sum(right) / len(right)
            result.append(Reward("learnability", 1 - share if 0 < share < 1 else extreme))
        else:
            result.append(None)
    return result


@dataclass(frozen=True)
class Learnability(Rewarding):
    """1 - s where a share 0 < s < 1 of the probes was right, `extreme` where all or none were (AZR 2505.03335)."""

    invalid: float = -1.0  # what was written is no problem
    extreme: float = -0.5
    lost: Literal["missing", "wrong"] = "missing"  # a probe that an error of ours left without a verdict
    does = learnability
