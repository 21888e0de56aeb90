"""The controls: a coin that falls once, any answer at all, and wrong majorities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode
from voting import answered, kept, rows_of

from assay.known import RECIPES
from assay.memory import Memory
from assay.methods.unlabelled.spurious.coin import Coin
from assay.methods.unlabelled.spurious.marked import Marked
from assay.methods.unlabelled.spurious.wrong_labels import wrong_labels
from assay.part import bind
from assay.rng import uniforms
from assay.types import Episode


def tossed(answers: list[Episode], *, share: float = 0.5, step: int = 0) -> list[float]:
    return [found.value for found in bind(Coin(share=share))(answers, memory=Memory(0, step=step))]


def test_a_coin_falls_once_for_each_request_and_step() -> None:
    answers = [episode([1], sample=i) for i in range(4000)]
    found = tossed(answers)
    assert found[::-1] == tossed(answers[::-1]) and found[7:9] == tossed(answers[7:9])
    assert found != tossed(answers, step=1)
    assert set(found) == {0.0, 1.0} and abs(np.mean(found) - 0.5) < 4 * 0.5 / 4000**0.5
    assert tossed([]) == []


@given(st.floats(0, 1))
def test_the_answer_is_nothing_to_the_coin(share: float) -> None:
    """Right or wrong, long or short: the same request, the same reward."""
    one = [episode([1], sample=i, reward=0.0) for i in range(9)]
    other = [episode([2, 3], sample=i, reward=1.0) for i in range(9)]
    assert tossed(one, share=share) == tossed(other, share=share)
    assert tossed(one, share=1.0) == [1.0] * 9 and tossed(one, share=0.0) == [0.0] * 9


def test_a_coin_that_falls_on_the_share_itself_earns_nothing() -> None:
    """Falls are multiples of 2^-53 from 0 on, and `share` 2^53 of them are below the share."""
    one = episode([1])
    fall = float(uniforms([Memory(0).key("coin", 0, one.request.id)], 1)[0, 0])
    assert tossed([one], share=fall) == [0.0] and tossed([one], share=fall + 2.0**-53) == [1.0]


def test_any_answer_that_ends_is_marked() -> None:
    assert [found.value for found in bind(Marked())(answered("7", "x#", "", "x#8"))] == [1.0, 0.0, 0.0, 1.0]


def test_only_groups_that_elect_a_wrong_answer_train() -> None:
    wrong = answered("8", "8", "7", group="wrong", right="7")
    right = answered("8", "7", "7", group="right", right="7")
    silent = answered("", "", "", group="silent")
    assert kept(wrong_labels(rows_of(wrong, right, silent))) == [0, 1, 2]


@pytest.mark.parametrize("name", ["random", "format", "incorrect", "majority"])
def test_every_control_has_eight_updates_and_no_kl(name: str) -> None:
    """Without a second update no ratio is ever clipped, and the clip is what the paper explains the effect by."""
    recipe = RECIPES[f"spurious-{name}"]
    assert recipe.scale.num_updates == 8 and recipe.mechanism.objective.regularise == ()
