"""Mini-batches and learning rates: which rows go into which optimiser step, at which rate."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import Table, group_of, update

from assay.credit import pack
from assay.objective import NoRatio, Objective, Open, TokenMean
from assay.objective.improve import improve, learning_rate, minibatches
from assay.rng import Key
from assay.scale import Scale
from assay.types import Batch, Row

PLAIN = Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean())


def scale_of(**changes: object) -> Scale:
    values = {"num_prompts": 4, "group_size": 2, "max_new": 8, "learning_rate": 0.5, "num_steps": 10}
    return Scale(**{**values, **changes})  # type: ignore[arg-type]


def batch_of(sizes: list[int]) -> Batch:
    rows: list[Row] = []
    for g, size in enumerate(sizes):
        rows += group_of([1.0] * size, name=f"g{g}", lengths=[1 + (g + i) % 3 for i in range(size)])
    return pack([row.mark(advantage=np.ones(len(row.episode))) for row in rows])


def test_one_update_sees_the_batch_as_it_is() -> None:
    batch = batch_of([2, 2])
    assert [part is batch for part in minibatches(batch, scale_of(), Key(0))] == [True]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(1, 5), st.integers(1, 3), st.integers(0, 9))
def test_every_row_is_seen_once_an_epoch_and_groups_stay_whole(
    sizes: list[int], count: int, epochs: int, seed: int
) -> None:
    batch = batch_of(sizes)
    parts = list(minibatches(batch, scale_of(num_minibatches=count, num_epochs=epochs), Key(seed)))
    seen = [request for part in parts for request in part.request]
    assert sorted(seen) == sorted(list(batch.request) * epochs)
    per_epoch = [seen[e * len(batch) : (e + 1) * len(batch)] for e in range(epochs)]
    assert all(sorted(epoch) == sorted(batch.request) for epoch in per_epoch)
    assert len(parts) == epochs * min(count, len(batch))
    if len(sizes) >= count:
        for part in parts:
            for group in set(part.group):
                assert part.group.count(group) == batch.group.count(group)


def test_mini_batches_are_a_function_of_the_key_and_of_the_epoch() -> None:
    batch, scale = batch_of([2] * 8), scale_of(num_minibatches=4, num_epochs=2)
    first = [part.request for part in minibatches(batch, scale, Key(0))]
    assert first == [part.request for part in minibatches(batch, scale, Key(0))]
    assert first != [part.request for part in minibatches(batch, scale, Key(1))]
    assert first[:4] != first[4:]


def test_denominators_are_those_of_the_mini_batch() -> None:
    """With a token mean and advantages of one, the coefficients of a mini-batch sum to -1."""
    batch = batch_of([2, 1, 3, 2])
    table = Table({request: [-1.0] * int(n) for request, n in zip(batch.request, batch.lengths)})
    sums: list[float] = []
    keep = table.backward

    def backward(chunk: Any, outputs: Any) -> None:
        keep(chunk, outputs)
        sums.append(float(outputs.logp.grad.sum()))

    table.backward = backward  # type: ignore[method-assign]
    scale = scale_of(num_minibatches=2, num_epochs=2)
    stats = update(table, batch, PLAIN, scale, seed=3)
    assert sums == pytest.approx([-1.0] * 4, rel=1e-12)
    assert table.version == 4 and stats["update/steps"] == 4.0
    assert stats["update/tokens"] == 2 * len(batch.ids)


@pytest.mark.parametrize(
    "schedule, update, share",
    [
        ("constant", 0, 0.25),
        ("constant", 2, 0.75),
        ("constant", 3, 1.0),
        ("constant", 19, 1.0),
        ("linear", 1, 0.5),
        ("linear", 4, 1.0),
        ("linear", 12, 0.5),
        ("linear", 19, 1 / 16),
        ("cosine", 4, 1.0),
        ("cosine", 8, 0.5 + 0.5**1.5),
        ("cosine", 12, 0.5),
        ("cosine", 20, 0.0),
    ],
)
def test_rate_of_ten_steps_of_two_updates_after_four_of_warm_up(schedule: str, update: int, share: float) -> None:
    scale = scale_of(num_minibatches=2, warmup_steps=4, schedule=schedule)
    assert learning_rate(update, scale) == pytest.approx(0.5 * share, abs=1e-15)


def test_learning_rate_without_warm_up_starts_whole_and_never_is_negative() -> None:
    for schedule in ("constant", "linear", "cosine"):
        scale = scale_of(schedule=schedule)
        assert learning_rate(0, scale) == 0.5
        assert all(0 <= learning_rate(u, scale) <= 0.5 for u in range(40))
    assert learning_rate(0, scale_of(num_steps=1, warmup_steps=50)) == pytest.approx(0.01)


def test_rates_follow_the_optimiser_steps_of_the_engine() -> None:
    batch = batch_of([2, 2])
    table = Table({request: [-1.0] * int(n) for request, n in zip(batch.request, batch.lengths)})
    scale = scale_of(num_minibatches=2, warmup_steps=4)
    stats = {}
    for _ in range(2):
        stats = update(table, batch, PLAIN, scale)
    assert table.rates == pytest.approx([0.125, 0.25, 0.375, 0.5])
    assert stats["policy/learning_rate"] == 0.5


class Moving(Table):
    """Each step makes every token twice as unlikely, in log-probs."""

    def step(self, *, lr: float, clip: float | None, moments: str = "") -> Mapping[str, float]:
        self.logp = {name: [2 * p for p in row] for name, row in self.logp.items()}
        return {**super().step(lr=lr, clip=clip), "grad_norm": float(self.version)}


def test_statistics_of_several_updates() -> None:
    """The sampler said -1; before the first update the learner says -1.5, whatever it says later. Norms are 1, 2, 3."""
    batch = batch_of([2, 2])
    table = Moving({request: [-1.5] * int(n) for request, n in zip(batch.request, batch.lengths)})
    stats = update(table, batch, PLAIN, scale_of(num_epochs=3))
    assert stats["policy/grad_norm"] == 2.0 and stats["update/steps"] == 3.0
    assert stats["policy/sampler_mismatch"] == stats["policy/sampler_mismatch_max"] == 0.5


def test_the_batches_of_a_step_have_the_rates_of_the_step() -> None:
    """Two batches in the second step of two updates each: both begin where the schedule stands."""
    batch = batch_of([2, 2])
    table: Any = Table({request: [-1.0] * int(n) for request, n in zip(batch.request, batch.lengths)})
    scale = scale_of(num_minibatches=2, warmup_steps=4)
    for _ in range(2):
        improve(table, batch, objective=PLAIN, scale=scale, key=Key(0), micro_tokens=20, before=2)
    assert table.rates == pytest.approx([0.375, 0.5, 0.375, 0.5])


def test_an_empty_mini_batch_is_counted_and_the_others_are_trained() -> None:
    """Two rows push, two do not; each is a mini-batch of its own."""
    batch = batch_of([1, 1, 1, 1])
    push = np.repeat([1.0, 0.0, 1.0, 0.0], batch.lengths).astype(np.float32)
    batch = dataclasses.replace(batch, advantage=push)
    table = Table({request: [-1.0] * int(n) for request, n in zip(batch.request, batch.lengths)})
    stats = update(table, batch, PLAIN, scale_of(num_minibatches=4))
    assert stats["update/empty"] == 2.0 and stats["update/steps"] == 2.0 and table.version == 2
