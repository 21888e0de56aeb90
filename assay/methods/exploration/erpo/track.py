"""The sampling temperature of each problem: it rises while all answers are right, and falls when mistakes appear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.part import Remembering
from assay.types import Episode, by_group

if TYPE_CHECKING:
    from assay.ask import Sampling
    from assay.memory import Memory

STORE = "temperatures"


def track_temperature(
    memory: Memory,
    *,
    episodes: Sequence[Episode],
    sampling: Sampling,
    step: float,
    highest: float,
    place: str = STORE,
) -> Memory:
    """All right: T <- min(highest, T + step). Mixed: T <- max(T_0, T - step). All wrong: T stays.

    Answers that had a hint do not count.
    """
    store = memory.store(place)
    for group in by_group([e for e in episodes if e.verified and not e.request.helped]).values():
        problem, rights = group.members[0].request.problem.id, group.right
        lowest, now = sampling.temperature, store.get(problem, sampling.temperature)
        if all(rights):
            now = max(now, min(highest, round(now + step, 9)))
        elif any(rights):
            now = max(lowest, round(now - step, 9))
        store[problem] = now
    return memory.keep(place, {problem: now for problem, now in store.items() if now != sampling.temperature})


class TrackTemperature(Remembering):
    """Stores T of each problem whose history has moved it away from the temperature of the run (ERPO 2511.04800).

    remember=(TrackTemperature(step=0.05),)
    --mechanism.remember track-temperature --mechanism.remember.0.step 0.05
    """

    keeps = STORE

    step: float = 0.05
    highest: float = 1.3
    does = track_temperature
    needs_verdict = True
