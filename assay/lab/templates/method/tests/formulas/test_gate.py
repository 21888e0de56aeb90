"""The gate by hand, and a property of it."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.lab.templates.method.parts.gate import MyMethod
from assay.part import bind


def test_by_hand() -> None:
    """On policy it is 1; where log w is one width it is w exp(-1/2)."""
    ratio = torch.tensor([1.0, math.exp(0.3), math.exp(-0.6)], dtype=torch.float64)
    expected = [1.0, math.exp(0.3 - 0.5), math.exp(-0.6 - 2.0)]
    assert bind(MyMethod())(ratio, torch.ones(3)).tolist() == pytest.approx(expected, rel=1e-12)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault
@given(log_ratio=st.floats(-5, 5), width=st.floats(0.1, 2), advantage=st.floats(-3, 3))
def test_it_is_no_larger_than_the_ratio_and_never_negative(log_ratio: float, width: float, advantage: float) -> None:
    ratio = torch.tensor([log_ratio], dtype=torch.float64).exp()
    gate = bind(MyMethod(width=width))(ratio, torch.tensor([advantage]))
    assert 0 <= gate.item() <= ratio.item()
