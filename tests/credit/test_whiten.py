"""Whitening over answers and over tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tiny import group_of

from assay.credit import Whiten
from assay.errors import ConfigError
from assay.part import bind


def test_whitening_over_answers_counts_each_once() -> None:
    pairs = zip(group_of([1, 0, 0], lengths=[1, 6, 2]), [3.0, 0.0, 0.0], strict=True)
    rows = [row.mark(advantage=np.full(len(row.episode), a)) for row, a in pairs]

    def first(over: str) -> list[float]:
        found = bind(Whiten(over=over, ddof=0, epsilon=0.0))(rows)  # type: ignore[arg-type]
        return [row.advantage[0] for row in found]

    assert first("rows") == pytest.approx([math.sqrt(2), -1 / math.sqrt(2), -1 / math.sqrt(2)])
    deviation = math.sqrt(1 - 1 / 9)  # of one 3 and eight 0
    assert first("tokens") == pytest.approx([(8 / 3) / deviation, -(1 / 3) / deviation, -(1 / 3) / deviation])
    with pytest.raises(ConfigError, match="groups"):
        first("groups")
