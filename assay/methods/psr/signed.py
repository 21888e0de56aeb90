"""Advantages from verdicts alone: no baseline, nothing compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.part import Credit
from assay.types import Row


def signed(rows: Sequence[Row], *, right: float, wrong: float) -> list[Row]:
    return [row.mark(advantage=np.full(len(row.episode), right if row.episode.right else wrong)) for row in rows]


@dataclass(frozen=True)
class Signed(Credit):
    """A_i = `right` on right answers, `wrong` on all others, whatever they were paid (2506.01347).

        credit=Signed(right=1.0)
        --mechanism.credit signed --mechanism.credit.right 1.0
    """

    right: float = 1.0
    wrong: float = -1.0
    does = signed
