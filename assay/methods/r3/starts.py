"""Answers that start inside a demonstration: the further back, the more is left to the policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.ask.hints import lines_of, written_by_others
from assay.errors import ConfigError
from assay.memory import Memory
from assay.part import Asking
from assay.types import Request

if TYPE_CHECKING:
    from assay.ask import Codec


def start_states(
    requests: Sequence[Request], memory: Memory, *, codec: Codec, low: float, high: float
) -> list[Request]:
    """Whoever is compared starts in one state: u belongs to the group. What is given counts towards the limit."""
    if not 0 <= low <= high <= 1:
        raise ConfigError(f"ask: a start state lies from low to high within 0 to 1, not from {low} to {high}.")
    result = []
    for request in requests:
        steps = lines_of(request.problem)
        u = low + (high - low) * memory.key("start", memory.step)(request.group).bits / 2**64
        given = min(int(u * len(steps)), len(steps) - 1)
        pieces = [codec.encode(step) for step in steps[:given]]
        segments = tuple(written_by_others(ids) for ids in pieces)
        left = max(1, request.max_new - sum(map(len, pieces)))
        tag = f"start {4 * given // len(steps)}/4"
        result.append(dataclasses.replace(request, prefix=segments, max_new=left, tag=tag))
    return result


@dataclass(frozen=True)
class StartStates(Asking):
    """The first j of M steps of the worked solution are given, j = floor(u M) with u uniform in [low, high].

    From 0 to 1 all start states are mixed; where both are equal it is fixed, and stages slide it (R3 2402.05808).

        ask=(StartStates(low=0.0),)
        --mechanism.ask start-states --mechanism.ask.0.low 0.0
    """

    solutions = "all"

    low: float = 0.0
    high: float = 1.0
    does = start_states
