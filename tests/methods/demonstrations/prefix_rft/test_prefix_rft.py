"""Prefix-RFT: the beginning of a demonstration is given."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from demonstrated import MAX_NEW, learnt, planned, requests, small
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import END, episode, require_resumable, segment
from worked import POOL, Signs, beginner, register

from assay.errors import ConfigError
from assay.memory import Memory
from assay.methods.demonstrations.prefix_rft.expert import expert_prefix
from assay.types import Origin, Row


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_prefixes_that_cannot_be_are_refused_before_anything_is_loaded() -> None:
    with pytest.raises(ConfigError, match="0 <= last <= first"):
        planned("prefix-rft", level=3, **{"mechanism.ask.0.last": "0.99"})
    with pytest.raises(ConfigError, match="Take a task without a world"):
        planned("prefix-rft", "calculator", 2)


@settings(max_examples=40, deadline=None)
@given(step=st.integers(0, 9), seed=st.integers(0, 99))
def test_prefixes_shorten_by_half_a_cosine_and_leave_something_to_write(step: int, seed: int) -> None:
    values = {"codec": Signs(), "group_size": 2, "num_steps": 10, "first": 0.95, "last": 0.05, "high": 0.95}
    memory = dataclasses.replace(Memory(seed), step=step)
    own, led = expert_prefix(requests(2), memory, **values)  # type: ignore[arg-type]
    total = len(led.problem.solution or "") + 1
    low = 0.05 + 0.9 * 0.5 * (1 + math.cos(math.pi * step / 9))
    assert own.given == 0 and own.max_new == MAX_NEW
    assert math.floor(low * total + 1e-9) <= led.given <= min(total - 1, MAX_NEW - 1) or led.given == MAX_NEW - 1
    assert led.given + led.max_new == MAX_NEW and led.max_new >= 1


def test_prefix_rft_trains_the_forks_of_what_is_given() -> None:
    """Of five given tokens the one with the highest entropy; all that was written. A = 1 - 0.5, clip at 1.2."""
    led = episode([segment([1, 2, 1, 2, 1], origin=Origin.INJECTED), segment([1, END])], sample=1, reward=1.0)
    rows = [Row(episode([1, END], sample=0, reward=0.0)), Row(led)]
    rows = [row.mark(old=np.full(len(row.episode), -1.0, np.float32)) for row in rows]
    entropy = [[9.0, 9.0], [0.1, 0.5, 0.3, 0.2, 0.4, 0.0, 9.0]]
    logp = [[-1.0, -1.0], [-1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -0.5]]
    found = learnt("prefix-rft", rows, logp, entropy)
    np.testing.assert_allclose(found[1], np.array([0, -0.5, 0, 0, 0, -0.5, 0]) / 12, rtol=1e-6)
    np.testing.assert_allclose(found[0], 0.5 / 12, rtol=1e-6)


@pytest.mark.slow
def test_a_run_of_prefix_rft_that_is_stopped_goes_on_to_the_same_bits() -> None:
    require_resumable(small("prefix-rft", group_size=4), beginner, after=2, pool=POOL, codec=Signs())
