"""Rounds of sampling alone: the answers of the step are stored, and none trains."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import leave_out
from assay.part import Curator
from assay.types import Row


def no_training(rows: Sequence[Row]) -> list[Row]:
    """Leaves out every row."""
    return leave_out(rows, set(range(len(rows))))


class NoTraining(Curator):
    """No answer of this step trains; the answers are verified, and the memory may store them.

    curate=(NoTraining(),)
    --mechanism.curate no-training
    """

    formerly = ("nobody",)

    does = no_training
