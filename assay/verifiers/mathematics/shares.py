"""The processor time of answers that are judged together. Slow answers share a
budget, so that no step waits long, however many answers hang.

Every answer first gets a short time, which is enough for nearly all. The answers that need more share the budget of the
call equally, up to the most that one answer may have. An answer's time depends only on how many answers need more: not
on their order, not on the load of the machine, and not on earlier calls. An answer whose outcome is known from an
earlier call is counted as if it were judged again.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from assay.host.workers import Outcome

FIRST = 0.5  # processor seconds that every answer gets at first
BUDGET = 30.0  # processor seconds that the answers which need more share

Item = TypeVar("Item")
Run = Callable[[Sequence[Item], float], Sequence[Outcome]]
"""(different items, processor seconds for each) -> their outcomes."""


@dataclass(frozen=True)
class Known:
    """The outcome of an answer, and the seconds that the answer was given."""

    outcome: Outcome
    given: float

    def within(self, seconds: float) -> Outcome | None:
        """The outcome that the answer would have with so many seconds; None if that is not known."""
        if self.outcome.status == "time":
            return self.outcome if seconds <= self.given else None
        return self.outcome if self.outcome.seconds <= seconds else Outcome("time", reached=self.outcome.reached)


def shared(items: Sequence[Item], run: Run[Item], known: MutableMapping[Item, Known], most: float) -> list[Outcome]:
    """The outcome of each item; equal items are judged once.

    `known` has the outcomes of earlier calls, and new outcomes are added to it.
    `most` is the most seconds for one item.
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
