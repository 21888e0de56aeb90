"""The critic and REINFORCE family: baselines of its own, lambdas by length, partners that learn, greedy answers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from partners import credited
from tiny import episode, group_of, register, weights_of

from assay.credit import GAE, pack
from assay.credit.advantage import group_relative
from assay.credit.pack import earned
from assay.curate.parts import band_first
from assay.known import RECIPES
from assay.objective import DeltaL, FixedLength, Objective, PromptMean, SequenceMean
from assay.objective.value import outcome_loss
from assay.part import Aggregate
from assay.types import Row


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


# Baselines


def test_the_deviation_of_the_batch_by_hand() -> None:
    """Rewards 1, 0 | 1, 1, 1, 0 | 0, 0: mean 1/2, unbiased variance 8/4/7 = 2/7 whatever the group."""
    reward = np.array([1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    found = group_relative(reward, np.array([0, 0, 1, 1, 1, 1, 2, 2]), scale="batch", ddof=1, epsilon=0.0)
    centred = np.array([0.5, -0.5, 0.25, 0.25, 0.25, -0.75, 0.0, 0.0])
    np.testing.assert_allclose(found, centred / math.sqrt(2 / 7), rtol=1e-12)


def test_what_a_kl_in_the_reward_took_is_in_the_baseline_of_the_others() -> None:
    """Rewards 1, 0 and KL of 0.5 and 0.1 in all: returns 0.5 and -0.1."""
    rows = group_of([1.0, 0.0])
    taken = [[-0.25, -0.25], [-0.1, 0.0]]
    rows = [row.mark(process=np.array(t, np.float32)) for row, t in zip(rows, taken, strict=True)]
    assert [earned(row) for row in rows] == pytest.approx([0.5, -0.1])
    found = credited(RECIPES["rloo"].mechanism.credit, rows)
    np.testing.assert_allclose(found, [[0.6] * 2, [-0.6] * 2], atol=1e-7)


# Critics


def test_a_cut_answer_has_no_value_beyond_it() -> None:
    """The reward of a failed answer and nothing else falls on its last token."""
    row = Row(episode([1, 2], reward=0.0, finish="length")).mark(value=np.array([0.25, 0.75], np.float32))
    assert credited(GAE(lam=1.0), [row]) == [[-0.25, -0.75]]


# The implicit process model


def test_the_loss_of_outcomes_by_hand() -> None:
    """beta = 0.5, sums of log-ratios 2 and -1: -log sigmoid(1), -log(1 - sigmoid(-0.5)); gradients beta (s - y)."""
    logp = torch.tensor([0.5, 1.0, -1.0], dtype=torch.float64, requires_grad=True)
    ref = torch.tensor([-0.5, 0.0, 0.0], dtype=torch.float64)
    each = outcome_loss(logp, ref, torch.tensor([0, 0, 1]), torch.tensor([1.0, 0.0]).double(), beta=0.5)
    expected = [math.log(1 + math.exp(-1.0)), math.log(1 + math.exp(-0.5))]
    np.testing.assert_allclose(each.detach().numpy(), expected, rtol=1e-12)
    each.sum().backward()
    assert logp.grad is not None
    first, second = 0.5 * (1 / (1 + math.exp(-1.0)) - 1), 0.5 / (1 + math.exp(0.5))
    np.testing.assert_allclose(logp.grad.numpy(), [first, first, second], rtol=1e-12)


# Selection


def test_groups_within_the_band_come_first_and_others_fill_the_step() -> None:
    rows = [
        *group_of([1.0, 1.0], name="all"),
        *group_of([1.0, 0.0], name="half"),
        *group_of([0.0, 0.0], name="none"),
        *group_of([0.0, 1.0], name="cut"),
        *group_of([0.0, 1.0], name="late"),
    ]
    rows[6] = rows[6].mark(episode=dataclasses.replace(rows[6].episode, finish="length"))

    def kept(count: int, *, cut: bool) -> list[str]:
        found = band_first(rows, num_prompts=count, low=0.2, high=0.8, cut=cut)
        assert all(r.in_loss == r.in_group == r.in_denominator for r in found)
        return list(dict.fromkeys(r.group for r in found if r.in_loss))

    assert kept(2, cut=True) == ["half", "cut"] and kept(2, cut=False) == ["half", "late"]
    assert kept(3, cut=False) == ["all", "half", "late"]
    assert kept(9, cut=False) == ["all", "half", "none", "cut", "late"]


# Further aggregates


def test_means_of_prompts_and_lengths_by_hand() -> None:
    """Groups of lengths 1, 3 and 2; rows that do not count or say nothing change nobody's denominator."""
    rows = [*group_of([1.0, 0.0, 0.0], name="a", lengths=[1, 3, 0]), *group_of([1.0], name="b", lengths=[2])]
    rows += [row.mark(in_loss=False, in_denominator=False) for row in group_of([0.0], name="c", lengths=[5])]
    batch = pack(rows)
    weight = weights_of(batch, Objective(aggregate=PromptMean()), max_new=8)[:6]
    np.testing.assert_allclose(weight, [1 / 8] * 4 + [1 / 4] * 2, rtol=1e-12)
    weight = weights_of(batch, Objective(aggregate=DeltaL(power=1.0)), max_new=8)[:6]
    total = 8 * (1 + 1 / 3 + 1 / 2)
    np.testing.assert_allclose(weight, [1 / total, *[1 / 3 / total] * 3, *[1 / 2 / total] * 2], rtol=1e-12)
    weight = weights_of(batch, Objective(aggregate=DeltaL(power=0.5)), max_new=8)[:6]
    total = 8 * (1 + 3**-0.5 + 2**-0.5)
    np.testing.assert_allclose(weight, [1 / total, *[3**-0.5 / total] * 3, *[2**-0.5 / total] * 2], rtol=1e-12)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6))
@pytest.mark.slow
def test_the_ends_of_the_further_aggregates(lengths: list[int]) -> None:
    """Power 0 is the fixed length; with a row a group the mean over prompts is that over answers; rows sum to 1 / L."""
    apart = [Row(episode([1] * n, group=f"g{i}", sample=i)) for i, n in enumerate(lengths)]
    batch = pack(apart)

    def weights(aggregate: Aggregate) -> np.ndarray:
        return weights_of(batch, Objective(aggregate=aggregate), max_new=7)

    np.testing.assert_allclose(weights(DeltaL(power=0.0)), weights(FixedLength()), rtol=1e-12)
    np.testing.assert_allclose(weights(PromptMean()), weights(SequenceMean()), rtol=1e-12)
    assert weights(PromptMean()).sum() == pytest.approx(1.0)
    for power in (0.25, 1.0):
        rows = [weights(DeltaL(power=power))[a] for a in batch.at[:-1]]
        assert sum(rows) == pytest.approx(1 / 7)
