"""Temperature, filters and the inverse CDF against definitions written out in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding import units

from assay.engine.filtering import Filters, draw, invert, kept

logit_rows = st.lists(st.integers(-40, 40), min_size=2, max_size=9).map(lambda x: [v / 8 for v in x])


def reference(p: list[float], top_k: int, top_p: float, min_p: float) -> set[int]:
    """Top-k, then top-p, then min-p, each over what the one before has left."""
    order = sorted(range(len(p)), key=lambda i: (-p[i], i))[:top_k]
    mass = sum(p[i] for i in order)
    chosen, total = [], 0.0
    for i in order:
        if top_p < 1 and total >= top_p * mass:
            break
        chosen.append(i)
        total += p[i]
    return {i for i in chosen if p[i] >= min_p * p[chosen[0]]}


def softmax(x: list[float]) -> list[float]:
    weights = [math.exp(v - max(x)) for v in x]
    return [w / sum(weights) for w in weights]


@settings(max_examples=150, deadline=None)
@given(
    logit_rows,
    st.integers(1, 10),
    st.sampled_from([0.05, 0.31, 0.503, 0.77, 0.903, 1.0]),  # no share that equal chances add up to
    st.sampled_from([0.0, 0.037, 0.2, 0.61]),
)
@pytest.mark.slow
def test_filters_are_their_definitions(logits: list[float], top_k: int, top_p: float, min_p: float) -> None:
    p = torch.softmax(torch.tensor([logits], dtype=torch.float64), -1)
    got = kept(
        p,
        torch.tensor([top_k]),
        torch.tensor([top_p], dtype=torch.float64),
        torch.tensor([min_p], dtype=torch.float64),
    )
    assert set(torch.nonzero(got[0]).flatten().tolist()) == reference(p[0].tolist(), top_k, top_p, min_p)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=9).filter(any), st.floats(0, 1, exclude_max=True))
def test_inverse_cdf_is_its_definition_and_never_picks_weight_zero(weights: list[int], u: float) -> None:
    weight = torch.tensor([weights], dtype=torch.float32)
    token = int(invert(weight, torch.tensor([u], dtype=torch.float64)))
    assert weights[token] > 0
    below, upto = sum(weights[:token]), sum(weights[: token + 1])
    assert below <= u * sum(weights) * (1 + 1e-12)
    assert u * sum(weights) * (1 - 1e-12) < upto


@pytest.mark.parametrize("u", [0.0, 1 - 2**-53])
def test_inverse_cdf_at_the_ends(u: float) -> None:
    weight = torch.tensor([[0.0, 0.3, 0.0, 0.7, 0.0]])
    assert int(invert(weight, torch.tensor([u], dtype=torch.float64))) == (1 if u == 0 else 3)


def test_frequencies_are_the_filtered_probabilities() -> None:
    """An even grid of n numbers hits each token n p times, up to the two that its edges cut."""
    n = 20000
    logits = [1.1, -0.3, 0.4, 2.0, -1.7, 0.0]
    tau, top_p, top_k, min_p = 0.8, 0.93, 5, 0.06
    p = softmax([v / tau for v in logits])
    chosen = reference(p, top_k, top_p, min_p)
    assert 1 < len(chosen) < len(p)
    mass = sum(p[i] for i in chosen)
    filters = Filters(
        tau=torch.full((n,), tau),
        filtered=torch.ones(n, dtype=torch.bool),
        top_k=torch.full((n,), top_k),
        top_p=torch.full((n,), top_p),
        min_p=torch.full((n,), min_p),
    )
    u = (torch.arange(n, dtype=torch.float64) + 0.5) / n
    drawn = draw(torch.tensor(logits).expand(n, -1), u, filters)
    counts = np.bincount(drawn.token.numpy(), minlength=len(p))
    for i, probability in enumerate(p):
        assert abs(counts[i] - (n * probability / mass if i in chosen else 0)) <= 2
    token = drawn.token.tolist()
    few = units(len(p), np.log(p))  # as many roundings as a softmax has numbers
    np.testing.assert_allclose(drawn.old, [math.log(p[i]) for i in token], atol=few)
    np.testing.assert_allclose(drawn.mu, [math.log(p[i] / mass) for i in token], atol=few)
    np.testing.assert_allclose(drawn.entropy, -sum(x * math.log(x) for x in p), atol=few)


def test_only_the_marked_rows_are_filtered() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0]]).expand(3, -1)
    filters = Filters(
        filtered=torch.tensor([False, True, False]),
        top_k=torch.tensor([3, 1, 3]),
        top_p=torch.ones(3),
        min_p=torch.zeros(3),
    )
    drawn = draw(logits, torch.zeros(3, dtype=torch.float64), filters)
    assert drawn.token.tolist() == [0, 2, 0]
    p = softmax([0.0, 1.0, 2.0])
    few = units(len(p), np.log(p))
    np.testing.assert_allclose(drawn.mu, [math.log(p[0]), 0.0, math.log(p[0])], atol=few)
    np.testing.assert_allclose(drawn.old, [math.log(p[0]), math.log(p[2]), math.log(p[0])], atol=few)


def test_greedy_takes_the_first_of_the_most_probable_with_certainty() -> None:
    logits = torch.tensor([[1.0, 3.0, 3.0], [5.0, 0.0, 0.0]])
    filters = Filters(greedy=torch.tensor([True, False]))
    drawn = draw(logits, torch.tensor([0.99, 0.999999], dtype=torch.float64), filters)
    assert drawn.token.tolist() == [1, 2]
    assert drawn.mu[0] == 0
    np.testing.assert_allclose(drawn.old[0], math.log(softmax([1.0, 3.0, 3.0])[1]), atol=units(3))
    assert drawn.mu[1] == drawn.old[1]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_logits_that_are_not_finite_are_marked(bad: float) -> None:
    logits = torch.tensor([[0.0, 1.0], [0.0, bad]])
    assert draw(logits, torch.zeros(2, dtype=torch.float64), Filters()).finite.tolist() == [True, False]
