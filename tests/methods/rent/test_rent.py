"""RENT: while some responses cannot be read, they decide the advantages of a group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.credit.advantage import group_relative
from assay.known import RECIPES
from assay.reward import Certainty


def test_the_recipe_has_the_floor_of_the_example() -> None:
    assert RECIPES["rent"].mechanism.reward == (Certainty(form="mean-entropy", unread=-7.0),)


@given(st.lists(st.floats(0.0, 1.5), min_size=1, max_size=4))
def test_beside_the_floor_entropies_hardly_count(entropies: list[float]) -> None:
    """In a group of 5 with entropies of up to 1.5 and one response at the floor, all that can be read gains: the worst
    has -1.5, and the mean is at most (-1.5 - 7) / 5 = -1.7.
    """
    rewards = np.array([*(-h for h in entropies), -7.0])
    found = group_relative(rewards, np.zeros(len(rewards), int), scale="std", ddof=1, epsilon=1e-6)
    assert (found[:-1] > 0).all() and found[-1] < 0
    assert found.sum() == pytest.approx(0.0, abs=1e-9)
