"""Groups whose rewards hardly differ, by a mean that moves with the run, do not train."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.curate.parts import leave_out
from assay.part import Curator, Proportion, Remembering
from assay.types import Row, by_group

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "deviation"


def deviations(rows: Sequence[Row]) -> dict[str, float]:
    """Group -> the standard deviation of its rewards, with ddof 1; groups of fewer than two rewards are left out."""
    found = {name: [r for r in group.rewards if r is not None] for name, group in by_group(rows).items()}
    return {name: float(np.std(rewards, ddof=1)) for name, rewards in found.items() if len(rewards) > 1}


def keep_deviation(
    memory: Memory, *, rows: Sequence[Row], keep: float, after: int, plain: int, place: str = STORE
) -> Memory:
    """mu <- keep mu + (1 - keep) mean_g s_g; of the first `plain` steps that count mu is the plain mean."""
    found = deviations(rows)
    if memory.step < after or not found:
        return memory
    store, now = memory.store(place), float(np.mean(list(found.values())))
    seen = store.get("steps", plain if "mean" in store else 0)  # an older checkpoint has no count
    moved = 1 / (seen + 1) if seen < plain or not seen else 1 - keep
    mean = store.get("mean", 0.0)
    return memory.keep(place, {"mean": mean + moved * (now - mean), "steps": seen + 1})


class KeepDeviation(Remembering):
    """A moving mean of the standard deviation of the rewards of a group; it begins as a plain mean (RLPR 2506.18254).

    remember=(KeepDeviation(keep=0.99),)
    --mechanism.remember keep-deviation --mechanism.remember.0.keep 0.99
    """

    keeps = STORE

    keep: Proportion = 0.99  # the share of the mean that stays in a step
    after: int = 5  # steps that do not count
    plain: int = 5  # the steps that count first, of which the mean is plain; 1: it moves from the second on
    does = keep_deviation


def varied(rows: Sequence[Row], memory: Memory, *, beta: float, after: int, place: str = STORE) -> list[Row]:
    """Leaves out every group with s_g < beta mu, once mu is known and `after` steps are over."""
    mean = memory.store(place).get("mean")
    if mean is None or memory.step < after:
        return list(rows)
    low = {name for name, deviation in deviations(rows).items() if deviation < beta * mean}
    return leave_out(rows, {i for i, row in enumerate(rows) if row.group in low})


class Varied(Curator):
    """Keeps the groups whose rewards vary at least `beta` times as much as is usual in the run (RLPR 2506.18254).

    curate=(Varied(beta=0.5),)
    --mechanism.curate varied --mechanism.curate.0.beta 0.5
    """

    reads = (KeepDeviation,)

    beta: float = 0.5
    after: int = 10  # steps in which all groups train
    does = varied
