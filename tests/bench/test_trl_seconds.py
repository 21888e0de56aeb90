"""Seconds to a score: where the line through examined models reaches it, and what the table says of runs."""

from __future__ import annotations

from typing import Any

import pytest

from bench.trl_seconds import reached, table


def test_the_goal_is_reached_on_the_line_between_two_models() -> None:
    points = [(0.0, 0.10), (10.0, 0.14), (20.0, 0.18), (30.0, 0.16)]
    assert reached(points, 0.17) == pytest.approx(17.5), "three quarters of the way from 0.14 to 0.18"
    assert reached(points, 0.14) == pytest.approx(10.0)
    assert reached(points, 0.19) is None
    assert reached([(0.0, 0.12), (5.0, 0.11), (9.0, 0.19)], 0.17) == pytest.approx(8.0), "first down, then up"


def record(seed: int, trl: float | None, ours: float | None) -> dict[str, Any]:
    return {"seed": seed, "trl": {"seconds": trl, "whole": 200.0}, "ours": {"seconds": ours, "whole": 20.0}}


def test_the_table_gives_the_median_ratio_of_the_seeds_that_reached_it() -> None:
    text = table([record(1, 120.0, 10.0), record(0, 100.0, 20.0), record(2, 90.0, None)])
    lines = text.splitlines()
    assert [line.split(" | ")[0] for line in lines[2:5]] == ["| 0", "| 1", "| 2"]
    assert lines[4] == "| 2 | 90 | not reached | - | 10.0 |"
    assert lines[-1] == "TRL / ours, median of 2: 8.5 (5.0 to 12.0)."
