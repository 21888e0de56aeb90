"""Answers that the limit cut do not train."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Curator
from assay.types import Row


def whole_answers(rows: Sequence[Row]) -> list[Row]:
    """Leaves out the rows that the sampler reports as cut; an answer that ends by itself at the limit is whole."""
    return [row.mark(in_loss=False, in_denominator=False) if row.episode.finish == "length" else row for row in rows]


class WholeAnswers(Curator):
    """Answers that the limit cut do not train, but count in their group's statistics (overlong filtering, 2503.14476).

    For your own recipes: where many answers are cut and none of them may teach to stop early; `--cut masked` adds it by
    itself.

    curate=(WholeAnswers(),)
    --mechanism.curate whole-answers
    """

    does = whole_answers
