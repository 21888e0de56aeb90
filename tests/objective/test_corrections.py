"""Who really sampled: weights for the gap between learner and sampler, and samplers that are behind."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import (
    Letters,
    Table,
    episode,
    here,
    models_for,
    policy,
    recipe_of,
    register,
    require_resumable,
    run,
    segment,
    update,
)

from assay.collect import Lagged
from assay.credit import pack
from assay.engine.interface import Span
from assay.errors import ConfigError
from assay.memory import Follow, Memory
from assay.memory.follow import follow
from assay.objective import Drop, NoRatio, Objective, Open, Reject, SequenceSum, Truncate
from assay.objective.correct import truncate
from assay.part import Correction
from assay.recipe import Recipe
from assay.rng import Key
from assay.scale import Model, Scale, behind
from assay.types import Origin, Request, Row

SCALE = Scale(num_prompts=2, group_size=3, max_new=8, learning_rate=0.5, num_steps=10)


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def weights(rows: list[Row], *correct: Correction, cut: int | None = None) -> list[list[float]]:
    """c of each token of rows whose advantages are 1."""
    goal = Objective(ratio=NoRatio(), gate=Open(), correct=correct, aggregate=SequenceSum())
    table = Table({row.episode.request.id: [-2.0] * len(row.episode) for row in rows}, rows=cut)
    update(table, pack(rows), goal, SCALE)
    return [(-len(rows) * table.coefficients[row.episode.request.id]).tolist() for row in rows]


def rows_of(rho: list[list[float]]) -> list[Row]:
    """Rows whose tokens have these ratios of old to mu; a ratio of 0 stands for a token of the environment."""
    rows = []
    for i, values in enumerate(rho):
        old = np.full(len(values), -2.0, np.float32)
        pieces = [
            segment([1], mu=np.array([-2.0 - math.log(r)], np.float32)) if r else segment([1], origin=Origin.ENV)
            for r in values
        ]
        rows.append(Row(episode(pieces, sample=i)).mark(old=old, advantage=np.ones(len(values))))
    return rows


THREE = [[2.0, 0.5, 3.0], [1.1, 0.0, 1.2], [0.25]]  # products 3, 1.32, 0.25; geometric means 1.44, 1.15, 0.25


@pytest.mark.parametrize("cut", [None, 1, 2])
def test_corrections_of_answers_by_hand(cut: int | None) -> None:
    """Tokens of others are no factor and have no weight."""
    cases: list[tuple[Correction, list[list[float]]]] = [
        (Truncate(cap=2.0, level="sequence"), [[2.0] * 3, [1.32, 0, 1.32], [0.25]]),
        (Drop(high=2.0, level="sequence"), [[0.0] * 3, [1.32, 0, 1.32], [0.25]]),
        (Drop(low=1.0, high=5.0, level="sequence"), [[3.0] * 3, [1.32, 0, 1.32], [0.0]]),
        (Reject(by="geometric", low=0.5, high=1.2), [[0.0] * 3, [1, 0, 1], [0.0]]),
        (Reject(by="geometric", high=1.5), [[1.0] * 3, [1, 0, 1], [1.0]]),
        (Reject(by="least", low=0.4), [[1.0] * 3, [1, 0, 1], [0.0]]),
        (Reject(by="least", low=1.05), [[0.0] * 3, [1, 0, 1], [0.0]]),
        # mean (log rho)^2 / 2: 0.361, 0.0106, 0.961
        (Reject(by="k2", high=0.35), [[0.0] * 3, [1, 0, 1], [0.0]]),
        (Reject(by="k2", high=0.37), [[1.0] * 3, [1, 0, 1], [0.0]]),
        # mean (rho - 1 - log rho): 0.467, 0.0112, 0.636
        (Reject(by="k3", high=0.46), [[0.0] * 3, [1, 0, 1], [0.0]]),
        (Reject(by="k3", high=0.47), [[1.0] * 3, [1, 0, 1], [0.0]]),
    ]
    for part, expected in cases:
        found = weights(rows_of(THREE), part, cut=cut)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-12)


def test_the_ends_of_an_interval_belong_to_it() -> None:
    """Where the sampler's numbers are the learner's own: all ratios 1, all divergences 0, exactly."""
    ones, ends = [[1.0, 1.0], [1.0]], {"low": 1.0, "high": 1.0}
    parts = [Drop(**ends, level="token"), Drop(**ends, level="sequence"), Reject(by="geometric", **ends)]
    parts += [Reject(by="least", **ends), *(Reject(by=by, low=0.0, high=0.0) for by in ("k2", "k3"))]
    assert all(weights(rows_of(ones), part) == ones for part in parts)


@pytest.mark.parametrize("cut", [None, 1, 2])
def test_normalised_weights_by_hand(cut: int | None) -> None:
    """Token weights 2, 0.5, 2, 1.1, 1.2, 0.25 have the mean 1.175; answers 2, 1.32, 0.25 have 1.19."""
    rows = rows_of(THREE)
    tokens = weights(rows, Truncate(cap=2.0, normalise=True), cut=cut)
    np.testing.assert_allclose(tokens[0], np.array([2, 0.5, 2]) / 1.175, rtol=1e-5)
    np.testing.assert_allclose(tokens[2], [0.25 / 1.175], rtol=1e-5)
    answers = weights(rows, Truncate(cap=2.0, level="sequence", normalise=True), cut=cut)
    np.testing.assert_allclose([a[0] for a in answers], np.array([2, 1.32, 0.25]) / 1.19, rtol=1e-5)


def test_unknown_levels_and_measures_are_refused() -> None:
    for part, word in ((Truncate(level="row"), "row"), (Reject(by="mean"), "mean")):  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match=word):
            weights(rows_of(THREE), part)
    assert truncate


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.floats(1.01, 1.5), st.integers(1, 12))
def test_products_take_long_answers_out_and_means_do_not(drift: float, length: int) -> None:
    """At equal drift per token."""
    rows = rows_of([[drift] * length])
    product = weights(rows, Drop(high=2.0, level="sequence"))[0][0]
    assert product == pytest.approx(drift**length if drift**length < 2.0 else 0.0, rel=1e-4)
    assert weights(rows, Reject(by="geometric", high=1.501))[0][0] == 1.0


# What the sampler says


@pytest.mark.parametrize("top_p", [1.0, 0.9])
def test_rho_is_one_but_for_what_the_sampler_cannot_write(top_p: float) -> None:
    """At temperature 0.5, over tokens by their probability to be sampled: 1, less what top_p has cut off."""
    engine, context = policy("fp64"), Letters().encode("a")
    every = [Span(context, np.array([i], np.int32), 0.5) for i in range(5)]
    chance = np.exp([scores.logp[0] for scores in engine.score(every)])
    kept: list[int] = []
    for token in np.argsort(-chance):
        if chance[kept].sum() < top_p - 1e-9:
            kept.append(int(token))
    request = Request(episode([1]).request.problem, context, "g", 1, temperature=0.5, top_p=top_p)
    made = engine.generate([dataclasses.replace(request, sample=i) for i in range(400)], Key(3))
    seen = {int(m.segment.ids[0]): m.segment for m in made}
    assert set(seen) <= set(kept) and len(seen) > 2
    mean = 0.0
    for token, known in seen.items():
        assert known.old is not None and known.mu is not None
        assert math.exp(known.old[0]) == pytest.approx(chance[token], rel=1e-6)
        mean += math.exp(known.mu[0]) * math.exp(known.old[0] - known.mu[0])
        assert math.exp(known.old[0] - known.mu[0]) == pytest.approx(chance[kept].sum(), rel=1e-6)
    assert mean == pytest.approx(chance[list(seen)].sum(), rel=1e-6)
    assert chance[kept].sum() == pytest.approx(1.0) if top_p == 1 else 0.9 <= chance[kept].sum() < 1


def test_the_statistics_of_a_correction() -> None:
    """Weights 2, 0.5, 2, 1.1, 1.2, 0.25: an effective share of (sum c)^2 / (N sum c^2)."""
    goal = Objective(ratio=NoRatio(), gate=Open(), correct=(Truncate(),), aggregate=SequenceSum())
    rows = rows_of(THREE)
    table = Table({row.episode.request.id: [-2.0] * len(row.episode) for row in rows})
    stats = update(table, pack(rows), goal, SCALE)
    c = np.array([2, 0.5, 2, 1.1, 1.2, 0.25])
    assert stats["policy/correction"] == pytest.approx(c.mean(), rel=1e-5)
    assert stats["policy/correction_max"] == pytest.approx(2.0)
    assert stats["policy/correction_effective"] == pytest.approx(c.sum() ** 2 / (6 * (c**2).sum()), rel=1e-5)


# Samplers that are behind


def lagged(steps: int) -> Recipe:
    """GRPO, whose answers come from the policy of so many steps ago."""
    recipe = small("grpo")
    mechanism = dataclasses.replace(recipe.mechanism, collect=(Lagged(model="behaviour"),), remember=(Follow(every=1),))
    return dataclasses.replace(recipe, mechanism=mechanism, models=behind(steps))


def small(name: str, **changes: Any) -> Recipe:
    scale = {"num_prompts": 8, "group_size": 16, "num_steps": 7, "learning_rate": 0.02, "num_minibatches": 1, **changes}
    return recipe_of(name, max_new=4, **scale)


@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.slow
def test_a_chain_is_exactly_so_many_steps_behind(steps: int) -> None:
    """The sampler's version at step s is the policy's at the beginning of step s - k."""
    notes, _ = run(lagged(steps), policy("fp32", vocab=4))
    begun = np.cumsum([0] + [int(stats["update/steps"]) for stats in notes.stats])
    assert begun[-1] > 4
    for step, episodes in enumerate(notes.episodes):
        (version,) = {int(s.version) for e in episodes for s in e.segments}
        assert version == begun[max(0, step - steps)]


@pytest.mark.slow
def test_a_run_behind_a_chain_goes_on_bit_for_bit() -> None:
    require_resumable(lagged(2), lambda: policy("fp32", vocab=4), after=3)


@pytest.mark.slow
def test_a_follower_moves_a_share_of_the_way() -> None:
    """w <- w + rate (w_leader - w), of the named ones alone; a mixture is no version of the policy."""
    models = {"policy": Model(), "reference": Model(trained=False, follows="policy")}
    recipe = dataclasses.replace(small("grpo"), models=models | {"behaviour": Model(trained=False, follows="policy")})
    both = models_for(recipe, policy("fp64"))
    leader = here(both["policy"]).state()
    moved = {k: v + 1 if k.startswith("parameter/") else v for k, v in leader.items() if not k.startswith("optimiser/")}
    before = {k: torch.clone(v) for k, v in here(both["reference"]).state().items() if k.startswith("parameter/")}
    here(both["policy"]).load({**moved, "version": 5})
    values = {"models": both, "every": 2, "rate": 0.6, "names": ("reference",)}
    follow(Memory(0, step=2), **values)
    assert all(torch.equal(here(both["reference"]).state()[k], v) for k, v in before.items())
    follow(Memory(0, step=3), **values)
    for key, value in before.items():
        torch.testing.assert_close(here(both["reference"]).state()[key], value + 0.6, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(here(both["behaviour"]).state()[key], value, rtol=0, atol=0)
    assert both["reference"].version == 0 == both["behaviour"].version
    follow(Memory(0, step=3), **{**values, "rate": 1.0, "names": ()})
    assert both["reference"].version == 5 == both["behaviour"].version
    assert Follow() == Follow(every=5, rate=1.0, names=())
