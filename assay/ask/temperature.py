"""The sampling temperature of a step, on a straight line over the steps of a stage."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.part import Asking, Positive
from assay.types import Request

if TYPE_CHECKING:
    from assay.memory import Memory


def anneal_temperature(
    requests: Sequence[Request], memory: Memory, *, since: int, until: int, first: float, last: float
) -> list[Request]:
    """T = first + (last - first) u, with u = (step - since) / (until - 1 - since) within [0, 1].

    The stage has the steps `since` to `until` - 1. In a stage of one step u is 0. Greedy requests, which have the
    temperature 0, stay greedy.
    """
    way = (memory.step - since) / max(1, until - 1 - since)
    temperature = first + (last - first) * min(1.0, max(0.0, way))
    return [dataclasses.replace(r, temperature=temperature) if r.temperature else r for r in requests]


class AnnealTemperature(Asking):
    """Samples at a temperature that goes from `first` to `last` over the steps of the stage, in equal changes.

    Log-probs are computed at the temperature at which the answer was sampled. A stage that a condition lets begin early
    keeps `first` until its share of the steps begins.

        ask=(AnnealTemperature(first=0.6, last=1.0),)
        --mechanism.ask anneal-temperature --mechanism.ask.0.first 0.6
    """

    first: Positive = 1.0  # the temperature in the first step of the stage
    last: Positive = 1.0  # the temperature in its last step; the same as `first`: a temperature of the stage's own
    does = anneal_temperature
