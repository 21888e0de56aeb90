"""The constant of GUIDE that one part computes and another reads."""

from __future__ import annotations

import dataclasses

import pytest
from tiny import episode

from assay.credit.pack import pack
from assay.errors import ConfigError
from assay.known import recipe
from assay.methods.exploration.guide.quantile import GAMMA, RatioQuantile
from assay.objective.view import view_of_batch
from assay.recipe import check
from assay.rng import Key
from assay.types import Row


def test_a_part_whose_constant_nobody_finds_out_is_refused_before_a_run() -> None:
    guide = recipe("guide")
    check(guide)
    assert any(GAMMA in part.writes for part in guide.mechanism.forwards)
    without = dataclasses.replace(guide.mechanism, forwards=())
    with pytest.raises(ConfigError, match=r"guide: ShapedBy reads .* 'gamma' .* Add `ratio-quantile` of `forwards`"):
        check(dataclasses.replace(guide, mechanism=without))
    assert isinstance(guide.mechanism.forwards[0], RatioQuantile)


def test_a_constant_that_no_row_has_is_named_where_it_is_read() -> None:
    view = view_of_batch(pack([Row(episode([1, 1]))]), key=Key(0))
    with pytest.raises(ConfigError, match=r"'gamma', which no row has: put `ratio-quantile` of `forwards` into"):
        view.constant(GAMMA)
