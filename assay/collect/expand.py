"""Expansion: given what exists so far, which further requests should be generated? An empty list when done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.memory import Memory
from assay.memory.leftovers import leftovers
from assay.part import Expansion
from assay.types import Episode, Request

More = Callable[[Memory, int, int], list[Request]]
"""(memory, first ordinal, number of problems) -> their requests: source and ask, continued within the step."""


def refill(
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    more: More,
    num_prompts: int,
    drawn: int,
    max_rounds: int,
    wanted: str,
    share: float,
    waiting: Sequence[str] = (),
) -> list[Request]:
    """The next `drawn` problems, or none once enough groups are as wanted or the cap is reached.

    Groups that wait since the step before are as wanted where `curate` puts them before those of the step: `waiting`
    names the places where such groups are kept.
    """
    outcomes: dict[str, set[bool]] = {}
    for episode in episodes:
        verdict = episode.verdict
        if verdict is not None and verdict.status != "invalid":
            outcomes.setdefault(episode.request.group, set()).add(verdict.status == "ok")
    enough = {True, False} if wanted == "mixed" else {True}
    found = sum(len(leftovers(memory, place)) for place in waiting) + sum(seen >= enough for seen in outcomes.values())
    of_this_step = [episode for episode in episodes if episode.provenance == "fresh"] or episodes
    ordinals = 1 + max(episode.request.draw for episode in of_this_step)
    if found >= share * num_prompts or ordinals >= drawn * max_rounds:
        return []
    return more(memory, ordinals, drawn)


@dataclass(frozen=True)
class Refill(Expansion):
    """Draw further problems until `num_prompts` groups are as wanted, at most `max_rounds` times in all (DAPO).

    A smaller share of them leaves the rest of the step to other groups (GPG 2504.02546).
    """

    max_rounds: int = 10
    wanted: Literal["mixed", "solved"] = "mixed"  # a right and a wrong answer in them, or a right one
    share: float = 1.0  # of `num_prompts`
    does = refill
