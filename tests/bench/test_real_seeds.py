"""What is counted over the seeds of a real model, by exams that were made up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from studies import result_of

from assay.lab.study.results import Exam, Result
from bench import real_seeds

EASE = np.tile([2, 4], 24)  # right answers of 16 to each of 48 questions: pass@1 is 3 / 16


def exam(right: np.ndarray) -> Exam:
    found = result_of("any", 0, right, samples=16).after
    assert found is not None
    return found


def runs_of(arm: str, gains: Sequence[int]) -> list[Result]:
    """A run for each seed, whose model has so many right answers of 16 more to every question; with examples the
    untrained model has 2 more.
    """
    before, examples = exam(EASE), exam(EASE + 2)
    return [
        result_of(arm, seed, EASE, before=before, examples=examples, after=exam(EASE + gain))
        for seed, gain in enumerate(gains)
    ]


def test_seeds_are_counted_whose_gain_is_large_and_sure() -> None:
    """Gains of 8, 9, 2 and 7 sixteenths: the third is sure, and smaller than 0.15."""
    found = real_seeds.counted([*runs_of("dr-grpo", [8, 9, 2, 7]), *runs_of("coin", [-1, 0, -1])])
    assert found is not None and [gain.mean for gain in found.gains.values()] == [8 / 16, 9 / 16, 2 / 16, 7 / 16]
    assert found.shown == 3 and not found.holds and found.reward.mean == pytest.approx(26 / 64)
    assert found.beyond is not None and found.beyond.mean == pytest.approx(26 / 64 - 2 / 16)
    assert found.coin is not None and found.coin.mean == pytest.approx(-2 / 48) and found.coin.seeds == 3
    assert not found.taught_by_chance and "in 3 of these seeds, taught less than a quarter" in real_seeds.sentence(
        found
    )


def test_a_large_gain_that_is_not_sure_is_not_counted() -> None:
    """Half of 8 questions go from nothing to all, a quarter back: +0.25 with an interval that has zero in it."""
    before, after = np.array([0, 0, 0, 0, 16, 16, 8, 8]), np.array([16, 16, 16, 16, 0, 0, 8, 8])
    runs = [result_of("dr-grpo", s, before, samples=16, before=exam(before), after=exam(after)) for s in range(2)]
    found = real_seeds.counted(runs)
    assert found is not None and found.gains[0].mean == 0.25 and found.gains[0].low < 0 and found.shown == 0
    assert found.coin is None and found.beyond is None and real_seeds.sentence(found).endswith("].")


def test_a_coin_that_teaches_a_quarter_is_said_to() -> None:
    """A quarter of 8 sixteenths is 2; a coin that taught 1 to 3 may have."""
    found = real_seeds.counted([*runs_of("dr-grpo", [8, 8, 8]), *runs_of("coin", [1, 3, 2])])
    assert found is not None and found.taught_by_chance
    assert "may have taught a quarter of that or more" in real_seeds.sentence(found)


def test_one_seed_says_nothing() -> None:
    assert real_seeds.counted(runs_of("dr-grpo", [8])) is None
