"""RLSC: the weight pi(y) + alpha gives the gradient of the probability that two answers coincide, and of imitation."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from assay.known import RECIPES
from assay.reward import Affine, Certainty


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=6))
def test_the_expected_gradient_is_half_of_that_of_coincidence(logits: list[float]) -> None:
    """By enumeration of all answers: E[(pi(y) + alpha) grad log pi(y)] = grad sum pi^2 / 2, whatever alpha."""
    z = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    logp = z.log_softmax(0)
    weight = (logp.exp() * (logp.exp() + 0.1)).detach()
    (found,) = torch.autograd.grad((weight * logp).sum(), z, retain_graph=True)
    (expected,) = torch.autograd.grad(logp.exp().square().sum() / 2, z)
    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-12)


def test_the_recipe_has_this_weight_and_no_baseline() -> None:
    mechanism = RECIPES["rlsc"].mechanism
    (weight,) = mechanism.reward
    assert isinstance(weight, Affine) and weight.of == Certainty(form="probability")
    assert (weight.times, weight.plus) == (1.0, 0.1)
    assert not mechanism.credit.compares
