"""Which rows train, by how long they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from assay.curate.parts import leave_out
from assay.errors import ConfigError
from assay.grouping import groups
from assay.memory import Memory
from assay.memory.difficulty import STORE, quantile
from assay.part import Part, scales_with
from assay.types import Row


@dataclass(frozen=True)
class WholeAnswers(Part):
    """What a limit cut does not train (overlong filtering, 2503.14476); it stays in the statistics of its group."""


def whole_answers(rows: Sequence[Row]) -> list[Row]:
    """A cut is what the sampler says it is: an answer that ends at the limit by itself is whole."""
    return [row.mark(in_loss=False, in_denominator=False) if row.episode.finish == "length" else row for row in rows]


By = Literal["length", "reward-per-token"]


@dataclass(frozen=True)
class Filtered(Part):
    """Of each group the `keep` rows that are shortest, or that earn most a token, make its statistics and train; the
    others train on nothing and stay in the denominator (GFPO 2508.09726).
    """

    keep: int = scales_with("group_size", 8)
    by: By = "length"


def filtered(rows: Sequence[Row], *, keep: int, by: str) -> list[Row]:
    """Ties go to the shorter row, then to the first."""
    return _keep_first(rows, by, lambda mean: keep)


@dataclass(frozen=True)
class FilteredByDifficulty(Part):
    """The same, with fewer rows of easier groups: by quarters of the mean rewards of the groups of all steps before,
    which `remember` track-difficulty counts.
    """

    hard: int = scales_with("group_size", 8)  # of groups below the median
    medium: int = scales_with("group_size", 6)  # of those below the third quartile
    easy: int = scales_with("group_size", 4)
    by: By = "length"
    warmup: int = 10  # steps in which all groups count as hard


def filtered_by_difficulty(
    rows: Sequence[Row], memory: Memory, *, hard: int, medium: int, easy: int, by: str, warmup: int
) -> list[Row]:
    seen = memory.store(STORE) if memory.step >= warmup else {}

    def keep(mean: float) -> int:
        if not seen or mean < quantile(seen, 0.5):
            return hard
        return medium if mean < quantile(seen, 0.75) else easy

    return _keep_first(rows, by, keep)


def _keep_first(rows: Sequence[Row], by: str, keep: Callable[[float], int]) -> list[Row]:
    """The first of each group by the metric, as many as `keep` says of its mean reward."""
    if by not in ("length", "reward-per-token"):
        raise ConfigError(f"curate.by is 'length' or 'reward-per-token', not '{by}'.")
    out: set[int] = set()
    for members in groups(rows).values():
        alive = [i for i in members if rows[i].in_group]
        rewards = {i: rows[i].reward or 0.0 for i in alive}
        lengths = {i: len(rows[i].episode) for i in alive}
        rate = {i: 0.0 if by == "length" else -rewards[i] / max(1, lengths[i]) for i in alive}
        order = sorted(alive, key=lambda i: (rate[i], lengths[i]))
        out.update(order[keep(fmean(rewards.values())) :] if order else [])
    return leave_out(rows, out, denominator=True)
