"""The first tactic of a proof alone: where a proof is searched, and branches behind the replies of the prover."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.part import Asking, Count
from assay.types import Request, by_group


def first_tactics(requests: Sequence[Request], memory: object, *, width: int) -> list[Request]:
    """`width` requests for each group, whose answers halt behind the first reply."""
    result: list[Request] = []
    for group in by_group(requests).values():
        first = dataclasses.replace(group.members[0], halts=True)
        result += [dataclasses.replace(first, sample=i) for i in range(width)]
    return result


class FirstTactics(Asking):
    """Asks for `width` first tactics of each proof: an answer halts behind the reply to it. Where nobody replies, an
    answer is a tactic.

    ask=(FirstTactics(width=8),)
    --mechanism.ask first-tactics --mechanism.ask.0.width 8
    """

    width: Count = 8
    does = first_tactics
