"""How many prompts a round draws: as many as are missing, divided by the share of groups that turn out mixed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from assay.collect.expand import wanted_groups
from assay.models import Models
from assay.part import Collecting, Count, Expansion, Proportion, Remembering
from assay.types import Episode, Request, drawn_in_step

if TYPE_CHECKING:
    from assay.collect import Collect
    from assay.collect.expand import More
    from assay.memory import Memory

STORE = "mixed-share"


def rounded(missing: int, share: float, left: int) -> int:
    """ceil(missing / share), at most the `left` prompts that the step may still draw (CodeV-R1 2505.24183)."""
    return left if missing >= share * left else math.ceil(missing / share)


def share_of(memory: Memory, place: str) -> float:
    """The share of groups that were mixed, of the earlier steps; 1 before the first."""
    return float(memory.store(place).get("share", 1.0))


def first_draw(
    collect: Collect,
    *,
    more: Callable[[Models, Memory, int, int], list[Request]],
    num_prompts: int,
    most: int,
    place: str = STORE,
) -> Collect:
    """`collect` with a first round of num_prompts / share prompts."""

    def collect_more(models: Models, requests: Sequence[Request], memory: Memory) -> tuple[list[Episode], Memory]:
        drawn = 1 + max((request.draw for request in requests), default=-1)
        wished = rounded(num_prompts, share_of(memory, place), most * num_prompts)
        extra = more(models, memory, drawn, wished - drawn) if wished > drawn else []
        return collect(models, [*requests, *extra], memory)

    return collect_more


def adaptive_refill(
    episodes: Sequence[Episode], memory: Memory, *, more: More, num_prompts: int, most: int, place: str = STORE
) -> list[Request]:
    """Requests for (missing groups) / share further prompts; none once there are enough mixed groups."""
    kept, drawn = wanted_groups(episodes, "mixed"), drawn_in_step(episodes)
    missing, left = num_prompts - kept, most * num_prompts - drawn
    if missing <= 0 or left <= 0:
        return []
    share = min(share_of(memory, place), kept / drawn) if drawn else share_of(memory, place)
    return more(memory, drawn, rounded(missing, share, left))


def track_mixed(
    memory: Memory, *, episodes: Sequence[Episode], estimate: str, decay: float, place: str = STORE
) -> Memory:
    """The memory with the new share. A step without answers of its own leaves it."""
    drawn = drawn_in_step([episode for episode in episodes if episode.provenance != "replay"])
    if not drawn:
        return memory
    before, now = share_of(memory, place), wanted_groups(episodes, "mixed") / drawn
    known = "share" in memory.store(place)
    share = min(before, now) if estimate == "minimum" else (decay * before + (1 - decay) * now if known else now)
    return memory.keep(place, {"share": share})


class TrackMixed(Remembering):
    """The share of groups with right and wrong answers: the least of all steps (CodeV-R1), or a moving average.

    remember=(TrackMixed(estimate="average"),)
    --mechanism.remember track-mixed --mechanism.remember.0.estimate average
    """

    keeps = STORE

    estimate: Literal["minimum", "average"] = "minimum"
    decay: Proportion = 0.9  # of the moving average
    does = track_mixed


class FirstDraw(Collecting):
    """The first round draws num_prompts / share prompts, where share is that of mixed groups in earlier steps.

    collect=(FirstDraw(most=10),)
    --mechanism.collect first-draw --mechanism.collect.0.most 10
    """

    reads = (TrackMixed,)

    most: Count = 10  # a step draws at most so many times num_prompts
    does = first_draw


class AdaptiveRefill(Expansion):
    """Each further round draws (num_prompts - kept) / share prompts, where kept groups are mixed, and share is the
    lesser of the earlier steps' and this step's.

        expand=(AdaptiveRefill(most=10),)
        --mechanism.expand adaptive-refill --mechanism.expand.0.most 10
    """

    reads = (TrackMixed,)

    most: Count = 10  # a step draws at most so many times num_prompts
    does = adaptive_refill
