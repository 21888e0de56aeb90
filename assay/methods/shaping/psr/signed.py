"""Advantages from verdicts alone, without a baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Credit
from assay.types import Row


def signed(rows: Sequence[Row], *, right: float, wrong: float) -> list[Row]:
    """A_i = `right` or `wrong`, by the verdict."""
    return [row.mark(advantage=np.full(len(row.episode), right if row.right else wrong)) for row in rows]


class Signed(Credit):
    """A_i = `right` for right answers and `wrong` for all others, whatever their rewards (2506.01347).

    credit=Signed(wrong=-1.0)
    --mechanism.credit signed --mechanism.credit.wrong -1.0
    """

    right: float = 1.0
    wrong: float = -1.0
    does = signed
    needs_verdict = True
