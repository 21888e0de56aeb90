"""RENT: while some responses cannot be read, they decide the advantages of a group."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from earning import Told, advantages, earned
from hypothesis import given
from hypothesis import strategies as st
from voting import answered

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


def test_the_surest_answer_earns_most_by_hand() -> None:
    """Minus the mean entropy of its tokens, whatever their number and log-probs; -7 for one without an answer."""
    answers = answered("1", "2", "3", "", lengths=(2, 4, 1, 2))
    engine = Told([[-9.0] * 2, [-1.0] * 4, [-1.0], [-1.0] * 2], entropy=[[0.2, 0.4], [0.5] * 4, [0.7], [0.0] * 2])
    assert earned("rent", answers, engine=engine) == pytest.approx([-0.3, -0.5, -0.7, -7.0])
    found = advantages("rent", answers[:3], engine=engine)  # 0.2 above their mean, on it, 0.2 below: the deviation
    assert found == pytest.approx([1, 0, -1], abs=1e-4)
    cut = dataclasses.replace(answers[2], finish="length")
    assert earned("rent", [cut], engine=engine) == [-7.0]
