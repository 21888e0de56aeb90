"""The fused gated unit equals its formula, and its gradient that of autograd."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nearness import FORMATS, near, normal, poisoned
from torch import Tensor

from assay.engine.torch.kernels.gates import gate, gate_again, gate_backward

FEW = settings(max_examples=20, deadline=None)
cases = given(st.integers(1, 6), st.integers(1, 80), st.sampled_from(FORMATS), st.booleans(), st.integers(0, 99))


def unit(both: Tensor) -> Tensor:
    half = both.shape[-1] // 2
    return both[:, :half] / (1 + torch.exp(-both[:, :half])) * both[:, half:]


@FEW
@cases
@example(2, 1025, torch.bfloat16, True, 0)
@example(1, 2048, torch.float32, False, 1)
def test_a_gated_unit_and_its_gradient(rows: int, width: int, dtype: torch.dtype, view: bool, seed: int) -> None:
    both = normal(seed, rows + 2 * view, 2 * width + 6 * view, dtype=dtype, scale=3.0)
    grad = normal(seed + 1, rows + view, width + view, dtype=dtype)
    if view:
        both, grad = both[1:-1, : 2 * width], grad[1:, 1:]
    wide = both.double().requires_grad_(True)
    exact = unit(wide)
    (by_both,) = torch.autograd.grad(exact, wide, grad.double())
    with poisoned():
        act, gated = gate(both)
        again, back = gate_again(both, gated), gate_backward(grad, both, gated)
    assert gated is None and torch.equal(act, again)
    near(act, exact.detach(), roundings=2)
    near(back, by_both)


@pytest.mark.filterwarnings("ignore:overflow encountered in exp:RuntimeWarning")
@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_gates_far_open_and_far_shut_stay_finite(dtype: torch.dtype) -> None:
    gates = torch.tensor([-1e4, -100.0, -88.0, 0.0, 88.0, 100.0, 1e4], dtype=dtype)
    both = torch.cat([gates, torch.ones_like(gates)])[None]
    near(gate(both)[0], torch.where(gates > 0, gates, 0.0).double()[None])
    open_ = torch.sigmoid(gates.double())
    want = torch.cat([open_ * (1 + gates.double() * (1 - open_)), gates.double() * open_])[None]
    near(gate_backward(torch.ones(1, 7, dtype=dtype), both, None), want)


def test_no_rows_are_nothing_to_do() -> None:
    assert gate(torch.empty(0, 8))[0].shape == (0, 4)
    assert gate_backward(torch.empty(0, 4), torch.empty(0, 8), None).shape == (0, 8)
