"""Answers that start inside a demonstration: the earlier the start state, the more the policy has to write."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.ask.hints import lines_of, written_by_others
from assay.memory import Memory
from assay.part import Asking
from assay.types import Request

if TYPE_CHECKING:
    from assay.ask import Codec


def start_states(
    requests: Sequence[Request], memory: Memory, *, codec: Codec, low: float, high: float
) -> list[Request]:
    """All answers of a group start in one state: u belongs to the group. The given tokens count towards the limit."""
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


class StartStates(Asking):
    """Gives the first j of the M steps of the worked solution, j = floor(u M) with u uniform in [low, high].

    With 0 and 1 all start states are mixed. With low = high the start state is fixed, and stages can slide it (R3
    2402.05808).

        ask=(StartStates(high=1.0),)
        --mechanism.ask start-states --mechanism.ask.0.high 1.0
    """

    solutions = "all"

    low: float = 0.0
    high: float = 1.0
    does = start_states

    def refusal(self, **_: Any) -> str | None:
        if 0 <= self.low <= self.high <= 1:
            return None
        return f"start-states: expected 0 <= low <= high <= 1; got low {self.low:g}, high {self.high:g}."
