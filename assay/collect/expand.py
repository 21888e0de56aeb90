"""Expansion: given what exists so far, which further requests should be generated? An empty list when done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.collect.solve import SolveWith, solve_with
from assay.memory import Memory
from assay.part import Part
from assay.types import Episode, Request

More = Callable[[Memory, int, int], list[Request]]
"""(memory, first ordinal, number of problems) -> their requests: source and augment, continued within the step."""


@dataclass(frozen=True)
class Refill(Part):
    """Draw further problems until `num_prompts` groups are mixed, at most `max_rounds` times in all (DAPO)."""

    max_rounds: int = 10


def refill(
    episodes: Sequence[Episode], memory: Memory, *, more: More, num_prompts: int, drawn: int, max_rounds: int
) -> list[Request]:
    """The next `drawn` problems, or none once enough groups hold a right and a wrong answer or the cap is reached."""
    outcomes: dict[str, set[bool]] = {}
    for episode in episodes:
        verdict = episode.verdict
        if verdict is not None and verdict.status != "invalid":
            outcomes.setdefault(episode.request.group, set()).add(verdict.status == "ok")
    mixed = sum(len(seen) == 2 for seen in outcomes.values())
    ordinals = 1 + max(episode.request.draw for episode in episodes)
    if mixed >= num_prompts or ordinals >= drawn * max_rounds:
        return []
    return more(memory, ordinals, drawn)


EXPANDERS = {"refill": (Refill, refill), "solve-with": (SolveWith, solve_with)}
