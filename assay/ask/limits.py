"""Smaller numbers than those of the scale, for a stage: fewer answers to each problem, or shorter ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.part import Asking, PositiveProportion
from assay.types import Request


def shorter(requests: Sequence[Request], *, share: float) -> list[Request]:
    """max_new <- round(share max_new), at least 1. A request that the policy does not answer stays as it is."""
    return [dataclasses.replace(r, max_new=max(1, round(share * r.max_new))) if r.max_new else r for r in requests]


class Shorter(Asking):
    """Answers may have this share of the limit of the run. An answer that reaches the lower limit is truncated.

    Held-out problems are answered within the whole limit.

        ask=(Shorter(share=0.5),)
        --mechanism.ask shorter --mechanism.ask.0.share 0.5
    """

    share: PositiveProportion = 1.0  # of `max_new`
    does = shorter


def fewer(requests: Sequence[Request], *, group_size: int, share: float) -> list[Request]:
    """The first round(share group_size) requests of each group, at least 2; all of a group that has no more."""
    count = max(2, round(share * group_size))
    return [request for request in requests if request.sample < count]


class Fewer(Asking):
    """Each problem gets this share of the answers of a group, and at least two.

    ask=(Fewer(share=0.5),)
    --mechanism.ask fewer --mechanism.ask.0.share 0.5
    """

    share: PositiveProportion = 1.0  # of `group_size`
    does = fewer
