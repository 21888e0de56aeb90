"""Of many answers few train: the shortest, or those with the most reward a token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Literal

from assay.curate.parts import leave_out
from assay.errors import ConfigError
from assay.memory import Memory
from assay.methods.shaping.gfpo.difficulty import STORE, TrackDifficulty, quantile
from assay.part import Count, Curator, scales_with
from assay.types import Row, by_group

By = Literal["length", "reward-per-token"]


def filtered(rows: Sequence[Row], *, keep: int, by: str) -> list[Row]:
    """The first `keep` rows of each group by the metric; the shorter row wins a tie, then the earlier one."""
    return _keep_first(rows, by, lambda mean: keep)


class Filtered(Curator):
    """Only the `keep` shortest rows of each group train, or the rows with the most reward a token (GFPO 2508.09726).

    Statistics of the group use the kept rows alone; the others stay in the denominator of the loss. Replies of tools
    do not count as length.

        curate=(Filtered(keep=8),)
        --mechanism.curate filtered --mechanism.curate.0.keep 8
    """

    keep: Count = scales_with("group_size", 8, at=24)
    by: By = "length"  # which rows come first: the shortest, or those with the most reward per token
    does = filtered


def filtered_by_difficulty(
    rows: Sequence[Row],
    memory: Memory,
    *,
    hard: int,
    medium: int,
    easy: int,
    by: str,
    warmup: int,
    place: str = STORE,
) -> list[Row]:
    """As `filtered`, with a number of rows that depends on the quartile of the group's mean reward."""
    seen = memory.store(place) if memory.step >= warmup else {}

    def keep(mean: float) -> int:
        """The number of rows that a group with this mean reward keeps."""
        if not seen or mean < quantile(seen, 0.5):
            return hard
        return medium if mean < quantile(seen, 0.75) else easy

    return _keep_first(rows, by, keep)


class FilteredByDifficulty(Curator):
    """As `filtered`, but groups with a higher mean reward keep fewer rows.

    The quartiles are taken over all groups of earlier steps, which `track-difficulty` counts.

        curate=(FilteredByDifficulty(hard=8),)
        --mechanism.curate filtered-by-difficulty --mechanism.curate.0.hard 8
    """

    reads = (TrackDifficulty,)

    hard: int = scales_with("group_size", 8, at=16)  # rows kept of a group with a mean reward below the median
    medium: int = scales_with("group_size", 6, at=16)  # rows kept of a group between median and third quartile
    easy: int = scales_with("group_size", 4, at=16)  # rows kept of all other groups
    by: By = "length"  # which rows come first: the shortest, or those with the most reward per token
    warmup: int = 10  # steps in which all groups count as hard
    does = filtered_by_difficulty


def _keep_first(rows: Sequence[Row], by: str, keep: Callable[[float], int]) -> list[Row]:
    """Keeps the first rows of each group by the metric; `keep` gives their number for a mean reward."""
    if by not in ("length", "reward-per-token"):
        raise ConfigError(f"curate.by is 'length' or 'reward-per-token', not '{by}'.")
    out: set[int] = set()
    for group in by_group(rows).values():
        alive = [i for i in group.places if rows[i].in_group]
        rewards = {i: rows[i].reward or 0.0 for i in alive}
        lengths = {i: rows[i].episode.written for i in alive}
        rate = {i: 0.0 if by == "length" else -rewards[i] / max(1, lengths[i]) for i in alive}
        order = sorted(alive, key=lambda i: (rate[i], lengths[i]))
        out.update(order[keep(fmean(rewards.values())) :] if order else [])
    return leave_out(rows, out, denominator=True)
