"""GFPO: of a group the short answers train."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paid import with_replies
from tiny import batch_of, group_of, models_of, phases_of, policy, recipe_of, register, require_resumable, run

from assay.errors import ConfigError
from assay.known import RECIPES
from assay.memory import Memory
from assay.methods.shaping.gfpo.difficulty import STORE, quantile, track_difficulty
from assay.methods.shaping.gfpo.filtered import Filtered, FilteredByDifficulty
from assay.part import Part, bind
from assay.run.session import plan
from assay.source import Pool, Share
from assay.types import Row


def kept(part: Part, rows: Sequence[Row], memory: Memory | None = None) -> list[bool]:
    found = bind(part)(rows, memory=memory or Memory(0))
    for row in found:
        assert row.in_denominator and row.in_loss == row.in_group
    return [row.in_loss for row in found]


def test_the_shortest_and_the_best_paid_a_token() -> None:
    rows = group_of([1, -1, 0, 1, -1], lengths=[4, 1, 2, 3, 8])
    assert kept(Filtered(keep=2), rows) == [False, True, True, False, False]
    # 1/4, -1, 0, 1/3, -1/8: negative rewards prefer the long
    assert kept(Filtered(keep=2, by="reward-per-token"), rows) == [True, False, False, True, False]
    assert kept(Filtered(keep=4, by="reward-per-token"), rows) == [True, False, True, True, True]
    ties = group_of([0, 0, 0], lengths=[3, 1, 1])
    assert kept(Filtered(keep=1, by="reward-per-token"), ties) == [False, True, False]
    with pytest.raises(ConfigError, match="luck"):
        kept(Filtered(by="luck"), rows)  # type: ignore[arg-type]


def test_what_tools_reply_is_no_length_to_a_filter() -> None:
    rows = [Row(answer) for answer in with_replies()]
    assert kept(Filtered(keep=1), rows) == [True, False, False]
    assert kept(Filtered(keep=1, by="reward-per-token"), rows) == [True, False, False]
    assert kept(FilteredByDifficulty(hard=2, medium=1, easy=1), rows) == [True, True, False]


def test_statistics_are_those_of_the_kept_and_the_denominator_that_of_all() -> None:
    recipe = recipe_of("gfpo")  # keeps 3 of 8
    rows = group_of([1, 0, 1, 1, 0, 0, 1, 1], lengths=[1, 2, 3, 4, 4, 4, 4, 4])
    batch = batch_of(recipe, bind(recipe.mechanism.curate[0])(rows))
    deviation = math.sqrt(2 / 9) + 1e-6
    expected = [(1 / 3) / deviation, *[-(2 / 3) / deviation] * 2, *[(1 / 3) / deviation] * 3]
    np.testing.assert_allclose(batch.advantage, [*expected, *[0.0] * 20], rtol=1e-6)
    assert batch.counted.all() and batch.counted_rows.all() and batch.mask.sum() == 6


def test_easy_groups_keep_fewer() -> None:
    """Means of 0, 0.25, 0.5, 0.75 were seen as often: the median is 0.25, the third quartile 0.5."""
    memory = dataclasses.replace(Memory(0), step=10).keep(STORE, {"0": 5, "250": 5, "500": 5, "750": 5})
    part = FilteredByDifficulty(hard=4, medium=3, easy=2, warmup=10)

    def count(*rewards: float, at: Memory = memory) -> int:
        return sum(kept(part, group_of(list(rewards)), at))

    assert [count(*[1.0] * n, *[0.0] * (4 - n)) for n in range(5)] == [4, 3, 2, 2, 2]
    assert count(1, 1, 1, 1, at=dataclasses.replace(memory, step=9)) == 4
    assert count(1, 1, 1, 1, at=Memory(0)) == 4


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-8, 8), min_size=1, max_size=30), st.sampled_from([0.25, 0.5, 0.75]))
def test_quantiles_of_what_was_seen_are_exact(eighths: list[int], share: float) -> None:
    memory = Memory(0)
    for i, n in enumerate(eighths):
        memory = track_difficulty(memory, rows=group_of([n / 8, n / 8], name=str(i)))
    found = quantile(memory.store(STORE), share)
    ordered = sorted(n / 8 for n in eighths)
    assert found == ordered[math.ceil(share * len(ordered)) - 1]


def test_adaptive_filtering_counts_groups_from_the_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    recipe = recipe_of("gfpo-adaptive", max_new=4, num_prompts=4, group_size=8, num_steps=3)
    phases, models = phases_of(recipe), models_of(policy("fp32", vocab=4))
    assert phases.source(Memory(0)) and models
    _, memory = run(recipe, policy("fp32", vocab=4, init_std=0.1))
    assert sum(memory.store(STORE).values()) == 12


@pytest.mark.slow
def test_a_stopped_run_of_gfpo_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    recipe = recipe_of("gfpo-adaptive", max_new=4, num_prompts=4, group_size=4, num_steps=6, learning_rate=0.02)
    require_resumable(recipe, lambda: policy("fp32", vocab=4, init_std=0.1), after=4)


def test_it_keeps_a_third_of_smaller_groups_too_where_a_person_names_the_part() -> None:
    """8 of GFPO's 24 answers are 3 of the 8 that a laptop samples."""
    pool, named = Pool((Share("countdown", (3, 4)),)), {"mechanism.curate": "filtered"}
    made, _ = plan(RECIPES["grpo"], model="x/y", pool=pool, profile="laptop", overrides=named)
    assert made.recipe.mechanism.curate == (Filtered(keep=3),)
