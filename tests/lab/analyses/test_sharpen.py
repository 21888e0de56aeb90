"""`sharpen-discover`: the word for pairs whose truth is known, and none where the bank does not reach so far."""

from __future__ import annotations

import numpy as np
import pytest
from answered import drawn, of_banks, of_counts

from assay.lab.analyses import measure
from assay.lab.analyses.measure import Lacking

SHARPEN = measure("sharpen-discover")
CHANCES = np.where(np.arange(300) < 150, 0.0, np.random.default_rng(0).beta(1.0, 2.0, 300))


@pytest.mark.slow
def test_the_word_is_that_of_the_truth() -> None:
    base = drawn(CHANCES, 64, 1)
    best = SHARPEN.take(of_banks(base, drawn(1 - (1 - CHANCES) ** 2, 32, 2)))
    assert best.figures["word"] == "sharpening" and best.says.startswith("Sharpening")
    taught = SHARPEN.take(of_banks(base, drawn(np.where(CHANCES == 0, 0.5, CHANCES), 32, 3)))
    assert taught.figures["word"] == "discovery"
    same = SHARPEN.take(of_banks(base, drawn(CHANCES, 32, 4)))
    assert same.figures["word"] == "undetermined"


@pytest.mark.slow
def test_a_bank_that_is_too_short_gives_no_word() -> None:
    """One sample of the child is worth more than the base's bank holds, at every n."""
    reading = SHARPEN.take(of_banks(drawn(np.full(60, 0.02), 8, 1), drawn(np.full(60, 0.6), 8, 2)))
    assert reading.figures["word"] == "undetermined" and "no verdict" in reading.says


def test_three_samples_are_too_few() -> None:
    with pytest.raises(Lacking, match="the base has 3"):
        SHARPEN.take(of_banks(of_counts([1, 0], 3), of_counts([1, 0], 3)))
