"""Processor time of the answers that are judged together: what takes long shares a budget, so that no step waits for
long, however many answers hang.

All are given a little first, which is enough for nearly all. Those that need more share the budget of the call, and
each has at most what one may ever have. What one gets depends on how many need more, and on nothing else: not on their
order, not on what else the machine does, and not on what was judged before, for an answer that was is counted as if it
were judged again.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from assay.host.workers import Outcome

FIRST = 0.5  # processor seconds that everything is given
BUDGET = 30.0  # that all that need more share

Item = TypeVar("Item")
Run = Callable[[Sequence[Item], float], Sequence[Outcome]]
"""(different items, processor seconds for each) -> their outcomes."""


@dataclass(frozen=True)
class Known:
    """An outcome, and the seconds that it was given."""

    outcome: Outcome
    given: float

    def within(self, seconds: float) -> Outcome | None:
        """What it would be with so many seconds; None where that is not known."""
        if self.outcome.status == "time":
            return self.outcome if seconds <= self.given else None
        return self.outcome if self.outcome.seconds <= seconds else Outcome("time", reached=self.outcome.reached)


def shared(items: Sequence[Item], run: Run[Item], known: MutableMapping[Item, Known], most: float) -> list[Outcome]:
    """The outcome of each, judged once if it is there several times. `known` is what was found before, and keeps what
    is found; `most`: seconds that one may ever have.
    """
    different = list(dict.fromkeys(items))
    found = _with(different, min(FIRST, most), run, known)
    slow = [item for item in different if found[item].status == "time"]
    if slow and (share := min(most, BUDGET / len(slow))) > FIRST:
        found |= _with(slow, share, run, known)
    return [found[item] for item in items]


def _with(
    items: Sequence[Item], seconds: float, run: Run[Item], known: MutableMapping[Item, Known]
) -> dict[Item, Outcome]:
    found = {item: outcome for item in items if item in known and (outcome := known[item].within(seconds))}
    missing = [item for item in items if item not in found]
    for item, outcome in zip(missing, run(missing, seconds) if missing else (), strict=True):
        found[item] = outcome
        if outcome.status != "lost":
            known[item] = Known(outcome, seconds)
    return found
