"""Estimates as plain text."""

from __future__ import annotations

from assay.view.text import ABSENT, change, number


def test_a_small_difference_has_three_digits_and_a_large_one_none() -> None:
    assert change({"mean": 0.0406, "low": 0.012, "high": 0.0696}) == "+0.041 [+0.012, +0.070]"
    assert change({"mean": 375960.27, "low": 216860.71, "high": 535059.8}) == "+375,960 [+216,861, +535,060]"
    assert change({"mean": -1234.5, "low": None, "high": None}) == "-1,234"
    assert change(None) == ABSENT


def test_a_measure_is_written_by_its_size() -> None:
    assert [number(value) for value in (0.25049, 999.4, -1500.2)] == ["0.2505", "999.4", "-1,500"]
    assert number(2031999.7) == "2,032,000"
