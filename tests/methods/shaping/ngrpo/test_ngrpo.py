"""NGRPO: a virtual best answer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from credited_rows import credited
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import group_of

from assay.errors import ConfigError
from assay.methods.shaping.ngrpo.unsolved import UnsolvedGroups
from assay.methods.shaping.ngrpo.virtual import VirtualBest
from assay.part import Ddof, bind


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=1, max_size=8), st.integers(1, 3), st.sampled_from([0, 1]))
def test_a_virtual_answer_is_one_more_of_the_group(rewards: list[float], count: int, ddof: Ddof) -> None:
    found = credited(VirtualBest(best=1.0, count=count, ddof=ddof, epsilon=0.0), group_of(rewards))
    if min(rewards) == 1.0:
        assert found == [0.0] * len(rewards)
        return
    every = [*rewards, *[1.0] * count]
    mean = sum(every) / len(every)
    deviation = math.sqrt(sum((r - mean) ** 2 for r in every) / (len(every) - ddof))
    np.testing.assert_allclose(found, [(r - mean) / deviation for r in rewards], rtol=1e-9)
    assert sum(found) == pytest.approx(-count * (1.0 - mean) / deviation)  # the net push is down


@pytest.mark.parametrize("size", [1, 2, 8])
def test_groups_that_are_all_wrong_are_pushed_down(size: int) -> None:
    found = credited(VirtualBest(epsilon=0.0), group_of([0.0] * size))
    assert found == pytest.approx([-1 / math.sqrt(size + 1)] * size)


def test_a_reward_above_the_best_is_refused_and_solved_groups_leave() -> None:
    with pytest.raises(ConfigError, match=r"1\.5"):
        credited(VirtualBest(), group_of([1.5, 0.0]))
    rows = [*group_of([1, 1], name="a"), *group_of([0, 1], name="b"), *group_of([0, 0], name="c")]
    found = bind(UnsolvedGroups())(rows)
    assert [r.in_denominator for r in found] == [False] * 2 + [True] * 4
