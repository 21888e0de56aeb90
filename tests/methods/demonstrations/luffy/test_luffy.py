"""LUFFY: a demonstration among the answers of a group."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from demonstrated import LOGP, learnt, mixed, planned, requests, small
from tiny import require_resumable
from worked import POOL, Signs, beginner, register

from assay.ask.expert import expert
from assay.errors import ConfigError


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_last_answers_of_a_group_are_the_experts(count: int) -> None:
    asked = expert(requests(4, 2), codec=Signs(), group_size=4, count=count)
    assert [r.max_new == 0 for r in asked] == 2 * ([False] * (4 - count) + [True] * count)
    for request in asked:
        if request.max_new == 0:
            written = Signs().decode(np.concatenate([s.ids for s in request.prefix]).tolist())
            assert written == (request.problem.solution or "") + "."


def test_more_demonstrations_than_answers_are_refused_before_anything_is_loaded() -> None:
    with pytest.raises(ConfigError, match="of 8 answers from 0 to 7 are an expert's, not 8"):
        planned("luffy", level=3, **{"mechanism.ask.0.count": "8"})


def test_an_expert_is_cut_at_the_limit() -> None:
    short = [dataclasses.replace(r, max_new=2) for r in requests(2)]
    assert len(expert(short, codec=Signs(), group_size=2, count=1)[1].prefix[0].ids) == 2


def test_luffy_by_hand() -> None:
    """A = R - mean over all four; own tokens w A without a clip, the expert's 0.1 pi / (pi + 0.1)^2 A."""
    found = learnt("luffy", mixed([0.0, 1.0, 0.0, 1.0]), LOGP)
    for row, logp, a in zip(found[:3], LOGP, (-0.5, 0.5, -0.5), strict=False):
        np.testing.assert_allclose(row, -a * np.exp(np.array(logp) + 1) / 24, rtol=1e-5)
    p = np.exp(LOGP[3])
    np.testing.assert_allclose(found[3], -0.5 * 0.1 * p / (p + 0.1) ** 2 / 24, rtol=1e-5)


def test_luffy_of_a_group_that_is_all_right_ignores_the_expert() -> None:
    assert learnt("luffy", mixed([1.0, 1.0, 1.0, 1.0]), LOGP) == [None] * 4


@pytest.mark.slow
def test_a_run_of_luffy_that_is_stopped_goes_on_to_the_same_bits() -> None:
    require_resumable(small("luffy", group_size=4), beginner, after=2, pool=POOL, codec=Signs())
