"""The sampling temperature of each problem: up while it is solved without a mistake, down where mistakes begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.part import Remembering
from assay.types import Episode

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
    """All right: T <- min(highest, T + step). Mixed: T <- max(T_0, T - step). All wrong: as it is."""
    store = memory.store(place)
    for problem, rights in _groups(episodes):
        lowest, now = sampling.temperature, store.get(problem, sampling.temperature)
        if all(rights):
            now = max(now, min(highest, round(now + step, 9)))
        elif any(rights):
            now = max(lowest, round(now - step, 9))
        store[problem] = now
    return memory.keep(place, {problem: now for problem, now in store.items() if now != sampling.temperature})


@dataclass(frozen=True)
class TrackTemperature(Remembering):
    """T(q) of every problem whose history left the temperature of the run (ERPO 2511.04800)."""

    keeps = STORE

    step: float = 0.05
    highest: float = 1.3
    does = track_temperature


def _groups(episodes: Sequence[Episode]) -> list[tuple[str, list[bool]]]:
    """The verdicts of what each group answered without help, with the problem that it is about."""
    found: dict[str, tuple[str, list[bool]]] = {}
    for episode in episodes:
        if episode.verdict is not None and episode.verdict.status != "invalid" and not episode.request.helped:
            _, rights = found.setdefault(episode.request.group, (episode.request.problem.id, []))
            rights.append(episode.verdict.status == "ok")
    return list(found.values())
