"""The simulated loop against closed forms: constant answers, and what lags and pools may win at most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.planner.simulate import Loop, Simulated, simulate


def alike(sample: float, train: float, **more: object) -> Loop:
    """Ten answers of `sample` seconds on ten slots: a batch takes `sample` seconds on one pool."""
    return Loop(lengths=lambda step: [sample] * 10, rate=1.0, slots=10, train=train, **more)  # type: ignore[arg-type]


def settled(loop: Loop) -> Simulated:
    return simulate(loop, steps=80, warm=20)


@given(sample=st.floats(0.1, 100), train=st.floats(0.1, 100), publish=st.floats(0, 5))
def test_without_lag_a_step_is_the_sum_of_its_phases(sample: float, train: float, publish: float) -> None:
    found = settled(alike(sample, train, publish=publish))
    assert found.seconds == pytest.approx(sample + train + publish)
    assert found.learner_idle == pytest.approx((sample + publish) / (sample + train + publish))
    assert found.samplers_idle == pytest.approx(1 - sample / (sample + train + publish))
    assert found.age == 0


@given(sample=st.floats(0.1, 100), train=st.floats(0.1, 100), publish=st.floats(0, 5))
def test_with_a_lag_of_one_a_step_is_the_longer_of_its_phases(sample: float, train: float, publish: float) -> None:
    """The learner publishes before it learns, so that publishing is never hidden."""
    found = settled(alike(sample, train, publish=publish, lag=1))
    assert found.seconds == pytest.approx(max(sample, train) + publish)
    assert found.age == 1


@given(sample=st.floats(0.1, 100), train=st.floats(0.1, 100), lag=st.integers(2, 5))
def test_pools_share_the_slots_so_that_batches_overlap(sample: float, train: float, lag: int) -> None:
    """With as many pools as the lag, each pool has lag steps for its batch; its slots are fewer, and its batch takes
    ceil(10 / slots) times as long.
    """
    found = settled(alike(sample, train, lag=lag, pools=lag))
    each = 10 // lag
    batch = sample * -(-10 // each)
    assert found.seconds == pytest.approx(max(train, batch / lag))
    assert found.age == lag


def tailed(step: int) -> Sequence[float]:
    drawn = np.random.default_rng(step)
    return np.minimum(8192, drawn.lognormal(np.log(1500) - 0.405, 0.9, 256)).tolist()


@pytest.mark.slow
@given(
    lag=st.integers(0, 4),
    pools=st.integers(1, 4),
    train=st.floats(1, 200),
    order=st.sampled_from(["strict", "window"]),
)
def test_no_lag_makes_a_run_slower_and_none_makes_it_faster_than_either_side(
    lag: int, pools: int, train: float, order: str
) -> None:
    about = {"lengths": lambda step: tailed(0), "rate": 60.0, "slots": 256, "train": train}
    plain, found = (
        simulate(Loop(**about, **more), steps=30, warm=6)  # type: ignore[arg-type]
        for more in ({}, {"lag": lag, "order": order, "pools": 1 if order == "window" else pools})
    )
    if pools == 1 or order == "window":
        assert found.seconds <= plain.seconds * (1 + 1e-9)
    assert found.seconds >= train * (1 - 1e-9)
    busy = sum(tailed(0)) / 60 / 256
    assert found.seconds >= busy * (1 - 1e-9)
    assert 0 <= found.learner_idle <= 1 and 0 <= found.samplers_idle <= 1 and 0 <= found.age <= lag


def test_a_window_lets_the_tail_of_one_batch_run_beside_the_next() -> None:
    strict, window = (
        simulate(Loop(tailed, 60.0, 256, 20.0, lag=2, order=order), steps=40, warm=8)  # type: ignore[arg-type]
        for order in ("strict", "window")
    )
    assert window.seconds < 0.75 * strict.seconds


def test_the_step_of_a_tail_is_its_longest_answer() -> None:
    """One answer a slot: the longest of 256 answers decides, and the learner waits for it."""
    found = simulate(Loop(tailed, 60.0, 256, 20.0), steps=1)
    assert found.seconds == pytest.approx(max(tailed(0)) / 60 + 20)
