"""Expansion: given what exists so far, which further requests should be generated? An empty list when done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.collect.anchors import AnchorSearch, anchor_search
from assay.collect.completions import CompleteSteps, complete_steps
from assay.collect.forks import ForkAtReplies, fork_at_replies
from assay.collect.hints import RetryWithHint, retry_with_hint
from assay.collect.posed import SolvePosed, solve_posed
from assay.collect.rates import HintRounds, hint_rounds
from assay.collect.search import Search, search
from assay.collect.solve import SolveWith, solve_with
from assay.collect.study import Study, study
from assay.collect.teachers import AskTeachers, ask_teachers
from assay.collect.trees import Fork, fork
from assay.memory import Memory
from assay.memory.leftovers import leftovers
from assay.part import Part
from assay.types import Episode, Request

More = Callable[[Memory, int, int], list[Request]]
"""(memory, first ordinal, number of problems) -> their requests: source and augment, continued within the step."""


@dataclass(frozen=True)
class Refill(Part):
    """Draw further problems until `num_prompts` groups are as wanted, at most `max_rounds` times in all (DAPO).

    A smaller share of them leaves the rest of the step to other groups (GPG 2504.02546).
    """

    max_rounds: int = 10
    wanted: Literal["mixed", "solved"] = "mixed"  # a right and a wrong answer in them, or a right one
    share: float = 1.0  # of `num_prompts`


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
) -> list[Request]:
    """The next `drawn` problems, or none once enough groups are as wanted or the cap is reached.

    Groups that wait since the step before are as wanted.
    """
    outcomes: dict[str, set[bool]] = {}
    for episode in episodes:
        verdict = episode.verdict
        if verdict is not None and verdict.status != "invalid":
            outcomes.setdefault(episode.request.group, set()).add(verdict.status == "ok")
    enough = {True, False} if wanted == "mixed" else {True}
    found = len(leftovers(memory)) + sum(seen >= enough for seen in outcomes.values())
    ordinals = 1 + max(episode.request.draw for episode in episodes)
    if found >= share * num_prompts or ordinals >= drawn * max_rounds:
        return []
    return more(memory, ordinals, drawn)


EXPANDERS = {
    "refill": (Refill, refill),
    "retry-with-hint": (RetryWithHint, retry_with_hint),
    "ask-teachers": (AskTeachers, ask_teachers),
    "hint-rounds": (HintRounds, hint_rounds),
    "fork": (Fork, fork),
    "search": (Search, search),
    "study": (Study, study),
    "anchor-search": (AnchorSearch, anchor_search),
    "fork-at-replies": (ForkAtReplies, fork_at_replies),
    "solve-posed": (SolvePosed, solve_posed),
    "solve-with": (SolveWith, solve_with),
    "complete-steps": (CompleteSteps, complete_steps),
}
