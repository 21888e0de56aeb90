"""Answers that the limit cut do not train."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.part import Curator
from assay.types import Row


def whole_answers(rows: Sequence[Row]) -> list[Row]:
    """A cut is what the sampler says it is: an answer that ends at the limit by itself is whole."""
    return [row.mark(in_loss=False, in_denominator=False) if row.episode.finish == "length" else row for row in rows]


@dataclass(frozen=True)
class WholeAnswers(Curator):
    """What a limit cut does not train (overlong filtering, 2503.14476); it stays in the statistics of its group."""

    does = whole_answers
