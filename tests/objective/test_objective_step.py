"""What an optimiser step knows of all its rows: masks by quantile, averages over a term's own tokens, corrections, and
losses that compare rows. No cut into chunks may change any of it.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learnt_rows import learnt, rows_of
from tiny import END, episode, policy, segment
from torch import Tensor

from assay.credit import pack
from assay.known import PARTS
from assay.objective import (
    Case,
    Clip,
    Drop,
    HighEntropy,
    Judged,
    Likelihood,
    NoRatio,
    Objective,
    Open,
    SequenceMean,
    SequenceSum,
    TokenMean,
    Truncate,
)
from assay.objective.survey import survey
from assay.objective.view import View
from assay.part import Correction, LossScope, Ratio, WholeLoss
from assay.rng import Key
from assay.run.configure import from_data, to_data
from assay.types import Batch, Origin, Row

PLAIN = Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean())


# Selectors


def test_the_entropy_quantile_of_a_row_and_of_the_step() -> None:
    """Quantile 0.5 of (0, 1, 2) is 1, of (5, 6, 7, 8) 6.5; of all seven 5."""
    rows, entropy = rows_of([3, 4]), [[0.0, 1.0, 2.0], [5.0, 6.0, 7.0, 8.0]]
    logp = [[-1.0] * 3, [-1.0] * 4]

    def kept(**values: Any) -> list[list[bool]]:
        found = learnt(dataclasses.replace(PLAIN, keep=(HighEntropy(share=0.5, **values),)), rows, logp, entropy)
        return [[] if row is None else (row != 0).tolist() for row in found]

    assert kept(by="row") == [[False, False, True], [False, False, True, True]]
    assert kept(by="row", ties=True) == [[False, True, True], [False, False, True, True]]
    assert kept(by="row", side="low") == [[True, True, False], [True, True, False, False]]
    assert kept(by="step") == [[False] * 3, [False, True, True, True]]
    assert kept(by="step", ties=True) == [[False] * 3, [True] * 4]


def test_where_the_quantile_is_zero_nothing_is_masked() -> None:
    found = learnt(
        dataclasses.replace(PLAIN, keep=(HighEntropy(share=0.2, by="step"),)),
        rows_of([4]),
        [[-1.0] * 4],
        [[0.0, 0.0, 0.0, 0.0]],
    )
    assert (found[0] != 0).all()


def test_masked_tokens_stay_in_the_denominator_and_are_not_in_the_quantile() -> None:
    """Of (1, 9 by a tool, 3, 2) the trained ones are (1, 3, 2): above their median is the 3; N = 3."""
    parts = [segment([1]), segment([1], origin=Origin.ENV), segment([1, 1])]
    row = Row(episode(parts)).mark(advantage=np.ones(4), old=np.full(4, -1.0, np.float32))
    keep = HighEntropy(share=0.5)
    (found,) = learnt(dataclasses.replace(PLAIN, keep=(keep,)), [row], [[-1.0] * 4], [[1.0, 9.0, 3.0, 2.0]])
    np.testing.assert_allclose(found, [0, 0, -1 / 3, 0])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(0, 99), st.integers(1, 5))
@pytest.mark.slow
def test_no_cut_changes_a_quantile_of_the_step(lengths: list[int], seed: int, cut: int) -> None:
    random = np.random.default_rng(seed)
    entropy = [random.random(n).tolist() for n in lengths]
    logp = [(-random.random(n)).tolist() for n in lengths]
    goal = dataclasses.replace(PLAIN, keep=(HighEntropy(share=0.3, by="step"),))
    whole = learnt(goal, rows_of(lengths), logp, entropy)
    for one, other in zip(whole, learnt(goal, rows_of(lengths), logp, entropy, cut=cut), strict=True):
        np.testing.assert_array_equal(one, other)
    kept = sum(np.count_nonzero(row) for row in whole if row is not None)
    assert kept == sum(h > np.quantile(np.concatenate(entropy), 0.7) for row in entropy for h in row)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(0, 99), st.booleans())
def test_the_quantile_of_each_row_is_its_own(lengths: list[int], seed: int, ties: bool) -> None:
    """Entropies in halves, so that many are equal; numpy's quantile of every row by itself."""
    random = np.random.default_rng(seed)
    entropy = [(random.integers(1, 9, n) / 2).tolist() for n in lengths]
    goal = dataclasses.replace(PLAIN, keep=(HighEntropy(share=0.3, ties=ties),))
    found = learnt(goal, rows_of(lengths), [[-1.0] * n for n in lengths], entropy)
    for own, row in zip(entropy, found, strict=True):
        edge = np.quantile(own, 0.7) if own else 0.0
        expected = [h >= edge - 1e-9 if ties else h > edge + 1e-9 for h in own]
        assert ([] if row is None else (row != 0).tolist()) == expected


def test_cases_by_entropy_have_gates_of_their_own() -> None:
    """w = 1.4 everywhere, A > 0: beyond 1.2, within 1.5."""
    case = Case(over=HighEntropy(share=0.5), gate=Clip(low=0.5, high=0.5))
    goal = Objective(gate=Clip(), cases=(case,), aggregate=SequenceSum())
    (found,) = learnt(goal, rows_of([2]), [[-1.0 + math.log(1.4)] * 2], [[0.1, 2.0]])
    np.testing.assert_allclose(found, [0.0, -1.4], rtol=1e-6)


# Terms


@pytest.mark.parametrize("cut", [None, 1, 2])
def test_a_term_with_a_mean_of_its_own_counts_the_tokens_of_the_step(cut: int | None) -> None:
    """Rows of 2, 3 and 4 tokens, the second and third right: - 0.1 / 7 on each of their tokens, whatever the rest."""
    goal = dataclasses.replace(PLAIN, extra=(Likelihood(weight=0.1, over=Judged(right=True), mean="own"),))
    rows = rows_of([2, 3, 4], rewards=[0.0, 1.0, 1.0])
    found = learnt(goal, rows, [[-1.0] * n for n in (2, 3, 4)], cut=cut)
    for row, advantage, right in zip(found, (1, 2, 3), (0, 1, 1), strict=True):
        np.testing.assert_allclose(row, -advantage / 9 - right * 0.1 / 7, rtol=1e-6)


def test_a_term_with_no_token_of_its_own_is_zero() -> None:
    goal = dataclasses.replace(PLAIN, extra=(Likelihood(over=Judged(right=True), mean="own"),))
    (found,) = learnt(goal, rows_of([2], rewards=[0.0]), [[-1.0] * 2])
    np.testing.assert_allclose(found, -0.5)


def test_a_term_with_the_policys_mean_acts_where_its_selector_says() -> None:
    goal = dataclasses.replace(PLAIN, extra=(Likelihood(weight=0.5, over=Judged(right=False)),))
    found = learnt(goal, rows_of([1, 1], rewards=[0.0, 1.0]), [[-1.0], [-1.0]])
    np.testing.assert_allclose(np.concatenate(found), [-0.5 - 0.25, -1.0])


def test_a_mask_of_the_step_stands_beside_a_term_of_all_tokens() -> None:
    """Of entropies 1, 2, 3, 4 the upper half takes the push of -1/4 each; the term adds -0.2 / 4 to every token."""
    goal = dataclasses.replace(PLAIN, keep=(HighEntropy(share=0.5, by="step"),), extra=(Likelihood(weight=0.2),))
    found = learnt(goal, rows_of([2, 2]), [[-1.0] * 2] * 2, [[1.0, 3.0], [2.0, 4.0]])
    np.testing.assert_allclose(np.concatenate(found), [-0.05, -0.25 - 0.05, -0.05, -0.5 - 0.05], rtol=1e-6)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"keep": (HighEntropy(),)}, False),  # each answer by itself
        ({"keep": (HighEntropy(by="step"),)}, True),
        ({"cases": (Case(over=HighEntropy(by="step"), gate=Clip()),)}, True),
        ({"extra": (Likelihood(),)}, False),
        ({"extra": (Likelihood(mean="own"),)}, False),  # of all tokens that train, whose number is known
        ({"extra": (Likelihood(mean="own", over=Judged(right=True)),)}, False),  # so is that of right ones
        ({"extra": (Likelihood(mean="own", over=HighEntropy()),)}, True),  # how many they are, no data says
        ({"extra": (Likelihood(over=HighEntropy()),)}, False),
        ({"correct": (Truncate(level="token"),)}, False),
        ({"correct": (Truncate(level="token", normalise=True),)}, True),
    ],
)
def test_only_what_no_chunk_can_know_costs_a_pass_over_the_step(changes: dict[str, Any], expected: bool) -> None:
    assert dataclasses.replace(PLAIN, **changes).surveys == expected


# Corrections


def test_corrections_by_hand() -> None:
    """rho = 0.25, 1, 3, 8 and a token that nobody sampled; the filtered log-probs are mu = old - log rho."""
    rho, old = np.array([0.25, 1.0, 3.0, 8.0]), np.full(5, -2.0, np.float32)
    mine = segment([1] * 4, mu=(old[:4] - np.log(rho)).astype(np.float32))
    row = Row(episode([mine, segment([1], mu=np.array([np.nan], np.float32))]))
    row = row.mark(advantage=np.ones(5), old=old)

    def weights(*correct: Correction) -> np.ndarray:
        goal = dataclasses.replace(PLAIN, aggregate=SequenceSum(), correct=correct)
        return -learnt(goal, [row], [[-2.0] * 5])[0]

    np.testing.assert_allclose(weights(Truncate(cap=2.0)), [0.25, 1, 2, 2, 1], rtol=1e-6)
    np.testing.assert_allclose(weights(Drop(low=0.5, high=5.0)), [0, 1, 3, 0, 1], rtol=1e-6)
    np.testing.assert_allclose(weights(Truncate(cap=2.0), Drop(low=0.5, high=5.0)), [0, 1, 6, 0, 1], rtol=1e-6)


def test_the_weight_of_an_answer_that_others_would_hardly_give_is_finite() -> None:
    """log rho of 15 a token, of the answer 30: held at 20."""
    row = Row(episode([segment([1, 1], mu=np.full(2, -17.0, np.float32))]))
    row = row.mark(advantage=np.ones(2), old=np.full(2, -2.0, np.float32))
    goal = dataclasses.replace(PLAIN, aggregate=SequenceSum(), correct=(Truncate(cap=1e12, level="sequence"),))
    np.testing.assert_allclose(learnt(goal, [row], [[-2.0] * 2])[0], -math.exp(20), rtol=1e-5)


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_weights_that_are_divided_by_their_mean(level: Any) -> None:
    """Weights 1/2, 1 and 2, of tokens or answers, are divided by 7/6; where nothing trains nothing is divided."""
    rho = np.array([0.5, 1.0, 2.0])
    rows = [
        Row(episode([segment([1], mu=np.array([-2.0 - np.log(w)], np.float32))], sample=i)).mark(
            advantage=np.ones(1), old=np.full(1, -2.0, np.float32)
        )
        for i, w in enumerate(rho)
    ]
    goal = dataclasses.replace(PLAIN, aggregate=SequenceSum(), correct=(Truncate(level=level, normalise=True),))
    found = np.concatenate(learnt(goal, rows, [[-2.0]] * 3))
    np.testing.assert_allclose(-found, rho / (7 / 6) / 3, rtol=1e-6)
    assert learnt(goal, [row.mark(in_loss=False) for row in rows], [[-2.0]] * 3) == [None] * 3


def test_the_denominator_of_a_ratio_may_be_the_samplers() -> None:
    row = Row(episode([segment([1], mu=np.array([-3.0], np.float32))]))
    row = row.mark(advantage=np.ones(1), old=np.array([-1.0], np.float32))
    found = learnt(Objective(gate=Clip(high=9.0), anchor="sampler", aggregate=SequenceSum()), [row], [[-2.0]])
    np.testing.assert_allclose(found[0], -math.e, rtol=1e-6)


# Losses that compare rows


def spread(view: View, *, weight: Tensor) -> Tensor:
    mean = view.mean(view.logp)
    centre = view.in_group(mean) / view.in_group(mean.new_ones(mean.shape))
    return view.share * (mean - centre).square().sum()


class Spread(WholeLoss):
    """A loss of the squared distances of the rows' mean log-probs from that of their group."""

    does = spread

    @property
    def scope(self) -> LossScope:
        return "step"


def alone(view: View, *, weight: Tensor) -> Tensor:
    return view.share * view.sum(view.logp).square().sum()


class Alone(WholeLoss):
    """A loss of the squared sum of each row's log-probs."""

    does = alone


@pytest.mark.parametrize("cut", [None, 1, 2])
def test_the_derivative_of_a_loss_that_compares_rows(cut: int | None) -> None:
    """Means m of rows of 1, 2, 1, 3 tokens in groups (0, 1, 0, 1): d/d logp = 2 / (B T_i) (m_i - centre)."""
    logp = [[-1.0], [-2.0, -4.0], [-2.0], [-1.0, -1.0, -4.0]]
    means, centres = np.array([-1.0, -3.0, -2.0, -2.0]), np.array([-1.5, -2.5, -1.5, -2.5])
    found = learnt(Objective(whole=Spread()), rows_of([1, 2, 1, 3], groups=2), logp, cut=cut)
    for row, m, c, n in zip(found, means, centres, (1, 2, 1, 3), strict=True):
        np.testing.assert_allclose(row, 2 / (4 * n) * (m - c), rtol=1e-5)


@pytest.mark.parametrize("cut", [None, 1, 2])
def test_the_derivative_of_a_loss_of_single_rows(cut: int | None) -> None:
    logp = [[-1.0], [-2.0, -4.0], [-0.5]]
    found = learnt(Objective(whole=Alone()), rows_of([1, 2, 1]), logp, cut=cut)
    for row, total in zip(found, (-1.0, -6.0, -0.5), strict=True):
        np.testing.assert_allclose(row, 2 / 3 * total, rtol=1e-6)


def test_a_term_reaches_the_rows_that_the_loss_leaves_alone() -> None:
    """Group 0 stands at its own mean; each of the four tokens is pushed by 0.2 / 4 all the same."""
    goal = Objective(whole=Spread(), aggregate=TokenMean(), extra=(Likelihood(weight=0.2),))
    found = learnt(goal, rows_of([1, 1, 1, 1], groups=2), [[-1.0], [-1.0], [-1.0], [-3.0]])
    np.testing.assert_allclose(np.concatenate(found), [-0.05, 0.5 - 0.05, -0.05, -0.5 - 0.05], rtol=1e-5)


def shared(logp: Tensor, old: Tensor, *, view: View) -> Tensor:
    return (logp - old).exp().mean().expand(len(logp))


class Shared(Ratio):
    """The mean ratio of all rows of the step."""

    does = shared

    @property
    def scope(self) -> LossScope:
        return "step"


@pytest.mark.parametrize("cut", [None, 1])
def test_a_ratio_that_compares_rows(cut: int | None) -> None:
    goal = Objective(ratio=Shared(), gate=Clip(high=9.0), aggregate=SequenceMean())
    found = learnt(goal, rows_of([1, 1]), [[-1.0], [-1.0 + math.log(2)]], cut=cut)
    np.testing.assert_allclose(np.concatenate(found), [-0.75, -1.5], rtol=1e-6)


def test_what_the_sampler_knew_is_not_scored_again() -> None:
    """An exact engine, weights of version 0 and finite numbers: no pass; of older weights: one."""
    engine = policy("fp32")
    ids = [np.array([1, 2, END], np.int32), np.array([2, END], np.int32)]
    old = [np.full(len(a), -1.5, np.float32) for a in ids]
    rows = [Row(episode([segment(a, old=o, mu=o)], sample=i)) for i, (a, o) in enumerate(zip(ids, old, strict=True))]
    batch = pack([row.mark(advantage=np.ones(len(row.episode))) for row in rows])

    def spent(batch: Batch) -> int:
        return survey(engine, batch, np.ones(5, np.float32), Objective(whole=Spread()), Key(0), 100)[1]

    assert batch.version is not None
    engine.exact = True
    assert spent(batch) == 0
    assert spent(dataclasses.replace(batch, version=batch.version - 1)) == 5
    assert spent(dataclasses.replace(batch, sampled=None)) == 5  # nobody knows what the sampler said
    said = np.where(np.arange(5) == 1, np.float32(np.nan), -1.5).astype(np.float32)
    assert spent(dataclasses.replace(batch, sampled=said)) == 5  # not of all tokens
    assert spent(dataclasses.replace(batch, sampled=said, mask=np.arange(5) != 1)) == 0  # of all that train
    engine.exact = False
    assert spent(batch) == 5


def test_an_objective_with_all_of_it_is_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTS[WholeLoss], "spread", Spread)
    goal = Objective(
        whole=Spread(),
        keep=(HighEntropy(by="step"),),
        correct=(Truncate(),),
        cases=(Case(over=Judged(), gate=Open()),),
        extra=(Likelihood(over=Judged(), mean="own"),),
    )
    assert from_data(Objective, to_data(goal)) == goal
    assert from_data(Objective, to_data(Objective())) == Objective()
