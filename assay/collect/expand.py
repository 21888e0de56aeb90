"""Expansion: given the answers so far, which further requests should be generated? An empty list means none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from assay.memory import Memory
from assay.memory.leftovers import leftovers
from assay.part import Count, Expansion, Proportion
from assay.types import Episode, Request, by_group, drawn_in_step

More = Callable[[Memory, int, int], list[Request]]
"""(memory, first ordinal, number of problems) -> requests for further problems of this step, made by source and ask."""


def wanted_groups(episodes: Sequence[Episode], wanted: str) -> int:
    """How many groups have right and wrong answers (`mixed`), or right ones (`solved`)."""
    enough = {True, False} if wanted == "mixed" else {True}
    return sum(enough.issubset(group.right) for group in by_group(episodes).values())


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
    """Requests for the next `drawn` problems; none once there are enough wanted groups or after `max_rounds` rounds.

    Groups that were set aside in an earlier step count as wanted if `curate` puts them before the groups of this step:
    `waiting` names the stores that hold such groups.
    """
    num_groups = sum(len(leftovers(memory, store)) for store in waiting) + wanted_groups(episodes, wanted)
    ordinals = drawn_in_step(episodes)
    if num_groups >= share * num_prompts or ordinals >= drawn * max_rounds:
        return []
    return more(memory, ordinals, drawn)


class Refill(Expansion):
    """Draws further problems until `num_prompts` groups are as wanted, in at most `max_rounds` rounds (DAPO).

    With a smaller `share` the rest of the step may be other groups (GPG 2504.02546).

        expand=(Refill(max_rounds=10, wanted="mixed"),)
        --mechanism.expand refill --mechanism.expand.0.max_rounds 10
    """

    max_rounds: Count = 10  # the first draw counts as a round
    wanted: Literal["mixed", "solved"] = "mixed"  # groups with a right and a wrong answer, or with a right answer
    share: Proportion = 1.0  # the share of `num_prompts` groups that must be as wanted
    does = refill
    needs_verdict = True
