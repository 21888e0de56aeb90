"""No answer of this step trains: what trains was held from earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.curate.parts import leave_out
from assay.part import Curator
from assay.types import Row


def no_training(rows: Sequence[Row]) -> list[Row]:
    return leave_out(rows, set(range(len(rows))))


@dataclass(frozen=True)
class NoTraining(Curator):
    """No answer of this step trains: answers are judged and remembered, and the policy does not learn from them now."""

    formerly = ("nobody",)

    does = no_training
