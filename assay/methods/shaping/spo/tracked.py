"""A stored baseline: the pass rate of the problem so far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.memory import Memory
from assay.methods.shaping.spo.values import STORE, TrackValues, probes_of, value
from assay.part import Credit
from assay.types import Row


def tracked_value(rows: Sequence[Row], *, memory: Memory, place: str = STORE) -> list[Row]:
    """A_i = 1[right] - v, with the stored v or that of the step's probes."""
    store, probes = memory.store(place), probes_of(rows)
    result = []
    for row in rows:
        problem = row.episode.request.problem.id
        advantage = float(row.right) - value(store, problem, probes.get(problem, ()))
        result.append(row.mark(advantage=np.full(len(row.episode), advantage)))
    return result


class TrackedValue(Credit):
    """A_i = 1[right] - v, where v is the value of the problem before this answer; no group is needed (SPO 2509.13232).

    The part `track-values` of `remember` stores v. For a problem without a stored value, v comes from its probes in
    this step.

        credit=TrackedValue()
        --mechanism.credit tracked-value
    """

    reads = (TrackValues,)
    does = tracked_value
    needs_verdict = True
