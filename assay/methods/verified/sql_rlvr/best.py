"""Of each group the answers that scored highest train, the others do not."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import leave_out
from assay.part import Count, Curator
from assay.types import Row, by_group


def best_answers(rows: Sequence[Row], *, most: int, above: float) -> list[Row]:
    """Leaves out all rows but the `most` of each group with the highest reward, if that is higher than `above`."""
    kept: set[int] = set()
    for group in by_group(rows).values():
        scored = [i for i in group.places if (reward := rows[i].reward) is not None and reward > above]
        kept.update(sorted(scored, key=lambda i: (-(rows[i].reward or 0.0), i))[:most])
    return leave_out(rows, set(range(len(rows))) - kept)


class BestAnswers(Curator):
    """Only the best answers of each group train: best-of-n fine-tuning.

    curate=(BestAnswers(most=1),)
    --mechanism.curate best-answers --mechanism.curate.0.most 1
    """

    most: Count = 1  # answers of a group; of equal ones the first
    above: float = 0.0  # an answer must earn more than this
    does = best_answers
