"""The worst step decides: rewards and credit by hand, what never changes, and three steps of training."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import END, Letters, episode

from assay.lab.trial import small_run
from assay.methods.shaping.dense_step_model.min_form import MinForm, step_leave_one_out, weighed
from assay.reward import Outcome
from assay.types import Row

VALUES = st.lists(st.integers(-8, 8).map(lambda n: n / 8), min_size=1, max_size=7)


def test_weights_by_hand() -> None:
    """r = 0, 0.1 and T = 0.1: weights 1 / (1 + 1/e) and 1 / (1 + e)."""
    found = weighed(np.array([0.0, 0.1]), 0.1)
    assert found == pytest.approx([0.0, 0.1 / (1 + math.e)])
    found = weighed(np.array([-1.0, 1.0, 0.5]), 0.1)
    assert found[0] == pytest.approx(-1.0, abs=1e-6) and np.abs(found[1:]).max() < 1e-6
    assert len(weighed(np.zeros(0), 0.1)) == 0


@given(VALUES)
def test_the_sum_is_between_the_lowest_and_the_mean_and_goes_to_the_lowest(values: list[float]) -> None:
    cold, warm = (float(weighed(np.array(values), t).sum()) for t in (1e-3, 0.1))
    assert cold == pytest.approx(min(values), abs=1e-9)
    assert min(values) - 1e-9 <= warm <= np.mean(values) + 1e-9


@given(VALUES)
def test_another_good_step_earns_next_to_nothing(values: list[float]) -> None:
    """It takes weight from the others, so that the sum moves up by no more than the share of its own weight."""
    lowest = min(values)
    before, after = weighed(np.array(values), 0.1).sum(), weighed(np.array([*values, lowest + 2.0]), 0.1).sum()
    assert abs(after - before) <= 2 * 2.0 * math.exp(-20) + 1e-9


def row(ids: list[int], process: dict[int, float], sample: int, reward: float) -> Row:
    dense = np.zeros(len(ids), np.float32)
    for place, value in process.items():
        dense[place] = value
    return Row(episode(ids, sample=sample, reward=reward), process=dense)


def test_credit_by_hand() -> None:
    """`c` ends a step. Answer 1: steps of 2 and 3 tokens with r' = 0.5, -1, right. Answer 2: one step of 4 tokens with
    r' = 0.8, wrong. Baselines b1 = 0.8 / 4 and b2 = -0.5 / 5; outcomes less those of the other: 1 and -1.
    """
    rows = [row([1, 3, 2, 1, END], {1: 0.5, 4: -1.0}, 0, 1.0), row([2, 2, 2, END], {3: 0.8}, 1, 0.0)]
    first, second = step_leave_one_out(rows, codec=Letters(), outcome=2.0, marks="c")
    last = -1.0 - 3 * 0.2 + 2.0
    assert first.advantage == pytest.approx([0.5 - 2 * 0.2 + last] * 2 + [last] * 3)
    assert second.advantage == pytest.approx([0.8 + 4 * 0.1 - 2.0] * 4)


def test_an_answer_alone_and_one_without_tokens_have_no_credit() -> None:
    (alone,) = step_leave_one_out([row([1, END], {1: 0.5}, 0, 1.0)], codec=Letters(), outcome=1.0, marks="c")
    assert alone.advantage is not None and not alone.advantage.any()
    empty, other = step_leave_one_out(
        [row([], {}, 0, 0.0), row([1, END], {1: 0.5}, 1, 1.0)], codec=Letters(), outcome=1.0, marks="c"
    )
    assert empty.advantage is not None and len(empty.advantage) == 0
    assert other.advantage == pytest.approx([0.5 + 1.0] * 2)  # nothing to compare its steps with


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(0, 1)), min_size=2, max_size=5),
    st.integers(-3, 3),
)
def test_a_constant_of_all_outcomes_and_the_order_of_rows_change_nothing(
    answers: list[tuple[list[int], int]], more: int
) -> None:
    def credited(add: float, order: list[int]) -> dict[int, list[float]]:
        rows = [row(answers[i][0], {len(answers[i][0]) - 1: 0.25 * i}, i, answers[i][1] + add) for i in order]
        found = step_leave_one_out(rows, codec=Letters(), outcome=1.0, marks="c")
        return {one.episode.request.sample: np.asarray(one.advantage).tolist() for one in found}

    plain = credited(0.0, list(range(len(answers))))
    for other in (credited(float(more), list(range(len(answers)))), credited(0.0, list(range(len(answers)))[::-1])):
        for sample, advantage in plain.items():
            assert other[sample] == pytest.approx(advantage, abs=1e-6)


def test_what_has_no_steps_is_refused() -> None:
    assert "one value for a whole answer" in str(MinForm(of=Outcome()).refusal())


def test_five_steps_of_training(tmp_path: Path) -> None:
    """One in which the step model learns and nothing else, then four of the policy."""
    run = small_run("dense-step-model", tmp_path, task="quantities", steps=5)
    first, *later = run.metrics()
    assert first["reward-model/loss"] == pytest.approx(math.log(2)) and "policy/grad_norm" not in first
    assert all(np.isfinite(record["policy/grad_norm"]) and "reward-model/loss" not in record for record in later)
