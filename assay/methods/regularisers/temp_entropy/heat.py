"""A sampling temperature that keeps the entropy of the policy near a target."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.part import Asking, Remembering
from assay.types import Episode, Request

if TYPE_CHECKING:
    from assay.ask import Sampling
    from assay.memory import Memory
    from assay.recipe import Mechanism
    from assay.scale import Scale

STORE = "heat"


def seen_entropy(episodes: Sequence[Episode]) -> float | None:
    """The mean entropy over the tokens that the policy sampled in this step, at the temperature of their sampling.

    Greedy answers do not count. None if no entropy is known.
    """
    drawn = [e for e in episodes if e.provenance == "fresh" and e.request.temperature > 0]
    streams = [e.stream("entropy") for e in drawn]
    known = np.concatenate([np.zeros(0), *streams])
    known = known[np.isfinite(known)]
    return float(known.mean(dtype=np.float64)) if len(known) else None


def heat_to_entropy(
    memory: Memory,
    *,
    episodes: Sequence[Episode],
    sampling: Sampling,
    target: float,
    rate: float,
    least: float,
    most: float,
    place: str = STORE,
) -> Memory:
    """log T <- log T + rate (target - H), within [log least, log most]. T begins at the temperature of the run.

    A step whose entropy is not known changes nothing.
    """
    before, seen = memory.store(place).get("temperature", sampling.temperature), seen_entropy(episodes)
    if seen is None:
        return memory
    after = before * math.exp(rate * (target - seen))
    return memory.keep(place, {"temperature": min(most, max(least, after))})


class HeatToEntropy(Remembering):
    """The temperature rises while the entropy of the sampled tokens is below the target, and falls while it is above.

    The part `heated` samples at this temperature.
    """

    keeps = STORE

    target: float = 0.3  # entropy in nats
    rate: float = 0.05  # change of log T for each nat of distance and step
    least: float = 0.6  # the lowest temperature
    most: float = 1.4  # the highest temperature
    does = heat_to_entropy

    def refusal(self, *, scale: Scale, mechanism: Mechanism) -> str | None:
        if 0 < self.least <= self.most:
            return None
        return (
            f"heat-to-entropy: temperatures run from `least` above 0 to `most`, which is no lower; got {self.least:g} "
            f"and {self.most:g}. Change one of them."
        )


def heated(requests: Sequence[Request], memory: Memory, *, place: str = STORE) -> list[Request]:
    """The requests at the stored temperature; before the first step at that of the run. Greedy requests stay greedy."""
    known = memory.store(place).get("temperature")
    if known is None:
        return list(requests)
    return [dataclasses.replace(r, temperature=known) if r.temperature else r for r in requests]


class Heated(Asking):
    """Samples at the temperature that `heat-to-entropy` stores."""

    reads = (HeatToEntropy,)
    does = heated
