"""Positive and negative samples alone."""

from __future__ import annotations

import pytest
from credited_rows import credited
from tiny import END, batch_of, episode, group_of, recipe_of

from assay.errors import ConfigError
from assay.lab.catalogue import card
from assay.methods.shaping.psr.one_sided import OneSided
from assay.methods.shaping.psr.signed import Signed
from assay.part import bind
from assay.types import Row


def test_signs_follow_the_verdict_not_the_reward() -> None:
    rows = [Row(episode([1, END], reward=r, right=right)) for r, right in [(0.2, True), (5.0, False), (-1.0, True)]]
    assert credited(Signed(right=0.1, wrong=-1.0), rows) == [0.1, -1.0, 0.1]


def test_one_side_leaves_the_denominator() -> None:
    rows = group_of([1, 0, None, 1])
    for keep, marks in (("right", [True, False, False, True]), ("wrong", [False, True, True, False])):
        found = bind(OneSided(keep=keep))(rows)  # type: ignore[arg-type]
        assert [(r.in_loss, r.in_group, r.in_denominator) for r in found] == [(m, m, m) for m in marks]
    with pytest.raises(ConfigError, match="both"):
        bind(OneSided(keep="both"))(rows)  # type: ignore[arg-type]


def test_psr_and_nsr_train_on_their_side_at_full_weight() -> None:
    rows = group_of([1, 0, 0, 1], lengths=[2, 3, 1, 4])
    for name, sign, counted in (("psr", 1.0, [2, 4]), ("nsr", -1.0, [3, 1])):
        recipe = recipe_of(name)
        kept = bind(recipe.mechanism.curate[0])(rows)
        batch = batch_of(recipe, kept)
        assert batch.lengths.tolist() == counted and batch.advantage.tolist() == [sign] * sum(counted)
        assert batch.counted.all()


def test_one_name_means_its_recipes_however_it_is_spelt() -> None:
    assert card("PSR-NSR")["recipes"] == ["psr", "nsr", "w-reinforce"]
