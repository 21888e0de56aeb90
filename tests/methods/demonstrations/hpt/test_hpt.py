"""HPT: a group that fails switches to its demonstration."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from demonstrated import LOGP, entropy_slopes, learnt, mixed, small
from tiny import END, episode, require_resumable, segment
from worked import POOL, Signs, beginner, register

from assay.methods.demonstrations.hpt.switch import switch_to_expert
from assay.types import Origin, Row


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_hpt_switches_by_group() -> None:
    """Unsolved: the demonstration alone, - 1/3 a token, whatever else is in the step. Solved: R - mean, B = 3."""
    unsolved = [row.mark() for row in mixed([0.0, 0.0, 0.0, 1.0], tag="teacher")]
    answers = [episode([1, END], group="solved", sample=i, reward=r) for i, r in enumerate((1.0, 0.0, 0.0))]
    solved = [Row(answer, old=np.full(2, -1.0, np.float32)) for answer in answers]
    rows = switch_to_expert([*unsolved, *solved], most=0)
    found = learnt("hpt", rows, [*LOGP, *[[-1.0, -1.0]] * 3])
    assert found[:3] == [None] * 3
    np.testing.assert_allclose(found[3], -1 / 3, rtol=1e-6)
    for row, a in zip(found[4:], (2 / 3, -1 / 3, -1 / 3), strict=True):
        np.testing.assert_allclose(row, -a / 18, rtol=1e-6)


@pytest.mark.parametrize("switched", [0, 1, 5])
def test_the_entropy_bonus_of_hpt_does_not_grow_with_the_prompts_that_switch(switched: int) -> None:
    """- 0.001 / N for each of the N tokens that train, of demonstrations and of own answers alike."""
    rows = [Row(episode([1, END], group="solved", sample=i, reward=r)) for i, r in enumerate((1.0, 0.0, 0.0))]
    for group in range(switched):
        own = [episode([1, 2, END], group=f"g{group}", sample=i) for i in range(3)]
        shown = episode([segment([1, 2, 1, END], origin=Origin.INJECTED)], group=f"g{group}", sample=9, reward=1.0)
        given = dataclasses.replace(shown, provenance="teacher")
        rows += [*map(Row, own), Row(given).mark(tag="teacher")]
    batch, slopes = entropy_slopes("hpt", switch_to_expert(rows, most=0))
    assert batch.mask.sum() == 6 + 4 * switched
    np.testing.assert_allclose(slopes, np.where(batch.mask, -0.001 / batch.mask.sum(), 0.0), rtol=1e-12)


@pytest.mark.parametrize(
    ("rewards", "most", "imitates"), [([1, 0, 0], 0, False), ([1, 0, 0], 1, True), ([0, 0, 0], 0, True)]
)
def test_the_switch(rewards: list[float], most: int, imitates: bool) -> None:
    rows = switch_to_expert(mixed([*map(float, rewards), 1.0]), most=most)
    assert [row.in_loss for row in rows] == [not imitates] * 3 + [imitates]
    assert [row.in_group for row in rows] == [not imitates] * 3 + [False]
    assert [row.in_denominator for row in rows] == [not imitates] * 3 + [False]


def test_a_group_that_lost_its_verdicts_learns_from_nobody() -> None:
    rows = [row.mark(in_group=False, in_loss=False, in_denominator=False) for row in mixed([0.0, 0.0, 0.0, 1.0])]
    assert not any(row.in_loss for row in switch_to_expert(rows, most=0))


@pytest.mark.slow
def test_a_run_of_hpt_that_is_stopped_goes_on_to_the_same_bits() -> None:
    require_resumable(small("hpt", group_size=4), beginner, after=2, pool=POOL, codec=Signs())
