"""Clip-Cov and KL-Cov: the tokens whose covariance is large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import Table, episode, group_of, pushes, recipe_of, update

from assay.credit import pack
from assay.methods.gates.clip_cov.covariance import Covariance
from assay.objective import KL, NoRatio, Objective, Open, SequenceSum
from assay.types import Row

SCALE = recipe_of("grpo", num_minibatches=1).scale


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 99), st.floats(0.01, 0.9), st.integers(1, 4))
def test_the_most_covariant_tokens_are_so_many_of_the_step(seed: int, share: float, cut: int) -> None:
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 6, 5)
    rows = [
        Row(episode([1] * n, sample=i)).mark(advantage=np.full(n, float(i - 2) + 0.1), old=np.full(n, -1.0, np.float32))
        for i, n in enumerate(lengths)
    ]
    logp = [np.log(random.uniform(0.05, 0.95, n)) for n in lengths]
    names = [row.episode.request.id for row in rows]
    goal = Objective(ratio=NoRatio(), gate=Open(), keep=(Covariance(share=share),), aggregate=SequenceSum())
    table = Table({name: list(x) for name, x in zip(names, logp, strict=True)}, rows=cut)
    update(table, pack(rows), goal, SCALE)
    found = np.concatenate([table.coefficients[name] != 0 for name in names])
    every, advantage = np.concatenate(logp), np.repeat(np.arange(5) - 1.9, lengths)
    product = (every - every.mean()) * (advantage - advantage.mean())
    count = max(1, int(share * len(every)))
    assert found.sum() == count
    assert product[found].min() >= product[~found].max(initial=-9.0) - 1e-9


@pytest.mark.parametrize("pick", ["top", "draw"])
def test_nothing_is_covariant_where_nothing_is_pushed(pick: Any) -> None:
    rows = [row.mark(advantage=np.zeros(2)) for row in group_of([1.0, 1.0])]
    term = KL(weight=1.0, estimator="distance", anchor="old", over=Covariance(share=0.5, pick=pick))
    goal = Objective(regularise=(term,))
    assert not np.any(pushes(goal, [row.mark(old=np.full(2, -2.0, np.float32)) for row in rows], -1.0))


@pytest.mark.parametrize(("low", "high", "some"), [(0.5, 2.0, True), (1.0, 2.0, False), (0.5, 1.0, False)])
def test_the_band_is_open_at_both_ends(low: float, high: float, some: bool) -> None:
    """Advantages of 1 and -1 at log-probs of -1 and -3: all products of deviations are 1."""
    rows = [
        Row(episode([1], sample=i)).mark(advantage=np.full(1, a), old=np.full(1, p, np.float32))
        for i, (a, p) in enumerate([(1.0, -1.0), (-1.0, -3.0)])
    ]
    part = Covariance(share=0.5, pick="draw", low=low, high=high, open=9.0)
    logp = {row.episode.request.id: [p] for row, p in zip(rows, (-1.0, -3.0), strict=True)}
    found = pushes(Objective(ratio=NoRatio(), gate=Open(), keep=(part,)), rows, logp)
    assert any(row != [0.0] for row in found) == some


def test_what_the_gate_has_shut_is_not_drawn() -> None:
    """Both tokens of the answer that is pushed up are in the band; the ratio of one is 3, of the other 1."""
    up, down = (Row(episode([1] * 2, sample=i)) for i in range(2))
    rows = [
        up.mark(advantage=np.full(2, 1.0), old=np.array([-1.0 - np.log(3), -1.0], np.float32)),
        down.mark(advantage=np.full(2, -1.0), old=np.full(2, -2.0, np.float32)),
    ]
    logp = {up.episode.request.id: [-1.0, -1.0], down.episode.request.id: [-2.0, -2.0]}
    part = Covariance(share=0.25, pick="draw", low=0.1, high=5.0, open=1.0)
    drawn = set()
    for seed in range(6):
        table = Table(logp)
        update(table, pack(rows), Objective(ratio=NoRatio(), gate=Open(), keep=(part,)), SCALE, seed=seed)
        drawn |= {(name, int(t)) for name, found in table.coefficients.items() for t in np.flatnonzero(found)}
    assert (up.episode.request.id, 0) not in drawn and (up.episode.request.id, 1) in drawn and len(drawn) == 3


def test_a_push_down_is_drawn_however_likely_the_token_has_become() -> None:
    """A ratio of 3 shuts what is pushed up alone."""
    rows = [
        Row(episode([1], sample=i)).mark(advantage=np.full(1, a), old=np.full(1, p - np.log(3), np.float32))
        for i, (a, p) in enumerate([(1.0, -1.0), (-1.0, -3.0)])
    ]
    goal = Objective(
        ratio=NoRatio(), gate=Open(), keep=(Covariance(share=1.0, pick="draw", low=0.1, high=5.0, open=1.0),)
    )
    logp = {row.episode.request.id: [p] for row, p in zip(rows, (-1.0, -3.0), strict=True)}
    up, down = pushes(goal, rows, logp)
    assert up == [0.0] and down != [0.0]


def test_chance_draws_from_the_band_whatever_the_order_of_the_rows() -> None:
    """Two of the tokens in the band, the same in any order and any chunks; of another key others."""
    lengths = [4, 3, 5, 4]
    rows = [
        Row(episode([1] * n, sample=i)).mark(advantage=np.full(n, 2.0 * (-1) ** i), old=np.full(n, -1.0, np.float32))
        for i, n in enumerate(lengths)
    ]
    names = [row.episode.request.id for row in rows]
    logp = {name: list(np.linspace(-3, -0.1, n)) for name, n in zip(names, lengths, strict=True)}
    part = Covariance(share=0.13, pick="draw", low=-2.0, high=2.5)
    goal = Objective(ratio=NoRatio(), gate=Open(), keep=(part,), aggregate=SequenceSum())

    def drawn(order: list[int], seed: int = 0, cut: int | None = None) -> set[tuple[str, int]]:
        table = Table(logp, rows=cut)
        update(table, pack([rows[i] for i in order]), goal, SCALE, seed=seed)
        return {(name, int(t)) for name in names for t in np.flatnonzero(table.coefficients.get(name, np.zeros(1)))}

    one = drawn([0, 1, 2, 3])
    assert len(one) == 2 == len(drawn([0, 1, 2, 3], seed=1))
    assert drawn([3, 1, 0, 2], cut=1) == one == drawn([2, 3, 1, 0], cut=3)
    assert len({frozenset(drawn([0, 1, 2, 3], seed=seed)) for seed in range(8)}) > 3
    every = np.concatenate([logp[name] for name in names])
    sign = np.concatenate([np.full(n, 2.0 * (-1) ** i) for i, n in enumerate(lengths)])
    product = (every - every.mean()) * (sign - sign.mean())
    places = [(name, t) for name, n in zip(names, lengths, strict=True) for t in range(n)]
    band = {place for place, c in zip(places, product, strict=True) if -2.0 < c < 2.5}
    assert one < band
