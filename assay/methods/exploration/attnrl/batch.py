"""The number of problems of a step grows until as many rows as wanted are of use."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from assay.memory import Memory
from assay.part import Count, Expansion, Proportion, Remembering
from assay.types import Episode, Request, Row

STORE = "batch-size"


def next_batch(batch: int, useful: int, *, wanted: int, rate: float, least: int, most: int) -> int:
    """B <- ceil(rate B wanted / useful + (1 - rate) B), from `least` to `most`; `most` if no row was of use."""
    grown = math.ceil(rate * batch * wanted / useful + (1 - rate) * batch - 1e-9) if useful else most
    return min(most, max(least, grown))


def adapt_batch(
    memory: Memory,
    *,
    rows: Sequence[Row],
    num_prompts: int,
    group_size: int,
    answers: int,
    rate: float,
    limit: float,
    place: str = STORE,
) -> Memory:
    """The memory with the number of problems of the next step. A row is of use if it is in the loss; wanted are
    `answers` times as many as the first answers to num_prompts problems.
    """
    before = memory.store(place).get("batch", num_prompts)
    useful, wanted = sum(row.in_loss for row in rows), answers * group_size * num_prompts
    most = max(num_prompts, round(limit * num_prompts))
    batch = next_batch(before, useful, wanted=wanted, rate=rate, least=num_prompts, most=most)
    return memory.keep(place, {"batch": batch})


class AdaptBatch(Remembering):
    """Keeps the number of problems that a step draws: the more, the fewer rows of the last step were of use (AttnRL
    2509.26628).
    """

    keeps = STORE

    answers: Count = 5  # wanted rows of use, for each of the first answers to num_prompts problems
    rate: Proportion = 0.1  # how fast the number follows
    limit: float = 4.0  # the most problems, as a multiple of num_prompts
    does = adapt_batch


def draw_more(
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    more: Callable[[Memory, int, int], list[Request]],
    num_prompts: int,
    place: str = STORE,
) -> list[Request]:
    """Requests for further problems, until the step has as many as the memory says."""
    fresh = [episode.request.draw for episode in episodes if episode.provenance == "fresh"]
    if not fresh:
        return []
    drawn = 1 + max(fresh)
    missing = memory.store(place).get("batch", num_prompts) - drawn
    return more(memory, drawn, missing) if missing > 0 else []


class DrawMore(Expansion):
    """Draws problems beyond num_prompts, as many as `adapt-batch` found necessary (AttnRL 2509.26628)."""

    reads = (AdaptBatch,)
    does = draw_more
