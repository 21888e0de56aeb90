"""Demonstrations whose beginning is given and which the policy finishes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.ask.expert import EXPERT, solution_ids
from assay.ask.hints import written_by_others
from assay.memory import Memory
from assay.part import Asking
from assay.types import Request

if TYPE_CHECKING:
    from assay.ask import Codec


def expert_prefix(
    requests: Sequence[Request],
    memory: Memory,
    *,
    codec: Codec,
    group_size: int,
    num_steps: int,
    first: float,
    last: float,
    high: float,
) -> list[Request]:
    """Gives floor(u T) of the T tokens of a solution, at most T - 1 and fewer than the limit, so that the policy
    always writes something.
    """
    progress = min(1.0, memory.step / max(1, num_steps - 1))
    low = last + (first - last) * 0.5 * (1 + math.cos(math.pi * progress))
    result = []
    for request in requests:
        if request.sample == group_size - 1:
            ids = solution_ids(request, codec)
            u = low + (high - low) * memory.key("expert-prefix", memory.step)(request.group).bits / 2**64
            given = max(0, min(int(u * len(ids)), len(ids) - 1, request.max_new - 1))
            prefix = (written_by_others(ids[:given]),) if given else ()
            request = dataclasses.replace(request, prefix=prefix, max_new=request.max_new - given, tag=EXPERT)
        result.append(request)
    return result


class ExpertPrefix(Asking):
    """The last answer of each group begins with a prefix of the worked solution, and the policy finishes it.

    The prefix is a share of the solution, uniform in [low, high]; low falls from `first` to `last` by half a cosine
    over the run (Prefix-RFT 2507.01679).

        ask=(ExpertPrefix(first=0.95),)
        --mechanism.ask expert-prefix --mechanism.ask.0.first 0.95
    """

    solutions = "all"
    writes = ("beginning",)

    first: float = 0.95
    last: float = 0.05
    high: float = 0.95
    does = expert_prefix

    def refusal(self, **_: Any) -> str | None:
        if 0 <= self.last <= self.first <= self.high < 1:
            return None
        return (
            f"ask: expected 0 <= last <= first <= high < 1; got last {self.last}, first {self.first}, high {self.high}."
        )
