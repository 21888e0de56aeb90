"""RL-ZVP: groups that are all alike teach by entropies."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from credited_rows import SMALL
from tiny import episode, policy, recipe_of, register, require_resumable, segment

from assay.errors import DataError
from assay.methods.shaping.rl_zvp.credit import ByCertainty
from assay.part import bind
from assay.types import Origin, Row, Verdict


def uncertain(rewards: Sequence[float], entropies: Sequence[Sequence[float]], **changes: Any) -> list[Row]:
    answers = [segment([1] * len(h), entropy=np.array(h, np.float32)) for h in entropies]
    return [
        Row(episode([a], sample=i, reward=r, **changes)) for i, (a, r) in enumerate(zip(answers, rewards, strict=True))
    ]


def pushed(rows: Sequence[Row], **values: float) -> list[list[float]]:
    part = ByCertainty(**{"alpha": 0.1, "epsilon": 0.0, **values})  # type: ignore[arg-type]
    found = bind(part)(rows)
    return [row.advantage.tolist() for row in found]  # type: ignore[union-attr]


def test_solved_groups_reinforce_uncertain_tokens_and_failed_ones_punish_certain_tokens() -> None:
    entropies = [[0.5, 2.0, 0.0], [1.0]]
    solved = pushed(uncertain([1.0, 1.0], entropies))
    np.testing.assert_allclose(solved[0], [0.05, 0.2, 0.0], rtol=1e-6)
    np.testing.assert_allclose(solved[1], [0.1], rtol=1e-6)
    failed = pushed(uncertain([0.0, 0.0], entropies))
    np.testing.assert_allclose(failed[0], [-0.15, 0.0, -0.2], rtol=1e-6)
    assert failed[1] == [0.0]  # one token is its own most uncertain one
    assert pushed(uncertain([0.0, 0.0], entropies, finish="length")) == [[0.0] * 3, [0.0]]


def test_equal_rewards_of_right_and_wrong_answers_push_nothing() -> None:
    """A reward that verdicts do not decide: the group is neither solved nor failed."""
    rows = uncertain([0.5, 0.5], [[0.5, 2.0], [1.0]])
    rows[1] = dataclasses.replace(rows[1], episode=dataclasses.replace(rows[1].episode, verdict=Verdict.fail("wrong")))
    assert [row.episode.right for row in rows] == [True, False]
    assert pushed(rows) == [[0.0, 0.0], [0.0]]


def test_mixed_groups_are_group_relative_whatever_the_entropies() -> None:
    found = pushed(uncertain([1.0, 0.0], [[0.1, 9.0], [3.0]]))
    np.testing.assert_allclose(found[0], [1 / math.sqrt(2)] * 2)
    np.testing.assert_allclose(found[1], [-1 / math.sqrt(2)])


def test_tokens_of_others_have_no_entropy_and_a_policy_without_any_is_refused() -> None:
    reply = segment([2, 2], origin=Origin.ENV)
    sure, torn = (segment([1], entropy=np.array([h], np.float32)) for h in (0.5, 4.0))
    rows = [Row(episode([torn, reply, sure], reward=0.0))]
    assert pushed(rows)[0] == pytest.approx([0.0, 0.0, 0.0, -0.35])
    with pytest.raises(DataError, match="entropy"):
        pushed([Row(episode([segment([1], entropy=None)], reward=0.0))])


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_uniform_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    require_resumable(recipe_of("rl-zvp", **SMALL), lambda: policy("fp32", vocab=4, init_std=0.1), after=2)
