"""Policies of self-play become harder to beat: the exact exploitability in Kuhn's poker falls, over several seeds."""

from __future__ import annotations

import numpy as np
import pytest

from bench.self_play import curve

SEEDS = (0, 1, 2)


@pytest.mark.deep
def test_the_best_reply_wins_less_and_less() -> None:
    """All begin as players by chance, whom a best reply beats by 11/24 and more by what is no move. Against who bets
    and calls always it wins a third of a chip: policies that learn no more than that are no better. At the end each
    seed is under half of its beginning, and under a quarter of a chip, and makes legal moves.
    """
    curves = [curve("spiral", seed) for seed in SEEDS]
    before, after, average = (
        np.array([points[at][what] for points in curves])
        for at, what in ((0, "exploitability"), (-1, "exploitability"), (-1, "of the average"))
    )
    assert (after < 0.5 * before).all() and (after < 0.25).all()
    assert (average < before).all() and all(points[-1]["illegal"] < 0.05 for points in curves)
