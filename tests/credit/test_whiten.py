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


def test_an_answer_counts_with_the_mean_of_its_tokens() -> None:
    """Means 4 and 2: their mean is 3, and their deviation 1."""
    rows = group_of([1, 0], lengths=[1, 4])
    marked = [row.mark(advantage=np.array(a)) for row, a in zip(rows, ([4.0], [1.0, 3.0, 2.0, 2.0]), strict=True)]
    found = bind(Whiten(over="rows", ddof=0, epsilon=0.0))(marked)
    assert [list(row.advantage) for row in found] == [[1.0], [-2.0, 0.0, -1.0, -1.0]]
