"""The comparison of two placements, as far as the constants of a plan are known."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from assay.planner.plan import Estimate, Placement, Situation, estimate, worth


@dataclass(frozen=True)
class Doubt:
    """A value that a constant may have, as far as it is known, with which the other placement is the better one.

    Doubt("decode_share", 0.22)
    """

    name: str
    value: float


def doubts(s: Situation, best: Estimate, other: Estimate) -> list[Doubt]:
    """For each constant alone, the edge of its known range at which `other` overtakes `best`. A constant that does not
    decide between them has no entry.
    """
    found = []
    for name, constant in s.constants.items():
        for edge in constant.edges:
            if edge.value == constant.value:
                continue
            moved = dataclasses.replace(s, constants={**s.constants, name: edge})
            if _worth(moved, other.placement) < _worth(moved, best.placement):
                found.append(Doubt(name, edge.value))
                break
    return found


def _worth(s: Situation, placement: Placement) -> float:
    made = estimate(s, placement)
    return math.inf if made is None else worth(made)
