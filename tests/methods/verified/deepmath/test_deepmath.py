"""DeepMath: 1 for the right final answer and -1 for any other, in DAPO's groups."""

from __future__ import annotations

import pytest
from earning import advantages, earned
from paid import of_lengths
from tiny import episode

ANSWERS = of_lengths((2, True), (3, False), (2, True), (3, True))


def test_right_earns_one_and_wrong_minus_one() -> None:
    assert earned("deepmath", ANSWERS) == [1, -1, 1, 1]
    assert earned("deepmath", [episode([1], right=False, finish="length")]) == [-1]


def test_three_of_four_by_hand() -> None:
    """The mean is 1/2, and the deviation 1: its square is (3 (1/2)^2 + (3/2)^2) / 3."""
    assert advantages("deepmath", ANSWERS) == pytest.approx([0.5, -1.5, 0.5, 0.5], abs=1e-5)
