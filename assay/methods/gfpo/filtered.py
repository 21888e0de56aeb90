"""Of many answers the few that train: the shortest, or the best by token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from assay.curate.grouping import groups
from assay.curate.parts import leave_out
from assay.errors import ConfigError
from assay.memory import Memory
from assay.methods.gfpo.difficulty import STORE, TrackDifficulty, quantile
from assay.part import Curator, scales_with
from assay.types import Row

By = Literal["length", "reward-per-token"]


def filtered(rows: Sequence[Row], *, keep: int, by: str) -> list[Row]:
    """Ties go to the shorter row, then to the first."""
    return _keep_first(rows, by, lambda mean: keep)


@dataclass(frozen=True)
class Filtered(Curator):
    """Of each group the `keep` rows that are shortest, or that earn most a token, make its statistics and train; the
    others train on nothing and stay in the denominator (GFPO 2508.09726). What tools replied is no length.
    """

    keep: int = scales_with("group_size", 8, at=24)
    by: By = "length"  # the shortest first, or those that earn most a token
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
    seen = memory.store(place) if memory.step >= warmup else {}

    def keep(mean: float) -> int:
        if not seen or mean < quantile(seen, 0.5):
            return hard
        return medium if mean < quantile(seen, 0.75) else easy

    return _keep_first(rows, by, keep)


@dataclass(frozen=True)
class FilteredByDifficulty(Curator):
    """The same, with fewer rows of easier groups: by quarters of the mean rewards of the groups of all steps before,
    which `remember` track-difficulty counts.
    """

    reads = (TrackDifficulty,)

    hard: int = scales_with("group_size", 8, at=16)  # of groups below the median
    medium: int = scales_with("group_size", 6, at=16)  # of those below the third quartile
    easy: int = scales_with("group_size", 4, at=16)  # of all others
    by: By = "length"
    warmup: int = 10  # steps in which all groups count as hard
    does = filtered_by_difficulty


def _keep_first(rows: Sequence[Row], by: str, keep: Callable[[float], int]) -> list[Row]:
    """The first of each group by the metric, as many as `keep` says of its mean reward."""
    if by not in ("length", "reward-per-token"):
        raise ConfigError(f"curate.by is 'length' or 'reward-per-token', not '{by}'.")
    out: set[int] = set()
    for members in groups(rows).values():
        alive = [i for i in members if rows[i].in_group]
        rewards = {i: rows[i].reward or 0.0 for i in alive}
        lengths = {i: rows[i].episode.written for i in alive}
        rate = {i: 0.0 if by == "length" else -rewards[i] / max(1, lengths[i]) for i in alive}
        order = sorted(alive, key=lambda i: (rate[i], lengths[i]))
        out.update(order[keep(fmean(rewards.values())) :] if order else [])
    return leave_out(rows, out, denominator=True)
