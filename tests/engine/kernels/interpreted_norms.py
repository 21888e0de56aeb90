"""The fused norms equal their formulas, for rows of any number and size, in views as the network gives them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nearness import FORMATS, near, normal, poisoned
from torch import Tensor

from assay.engine.torch.kernels.norms import norm, norm_backward

EPS = 1e-5
FEW = settings(max_examples=20, deadline=None)
shapes = st.one_of(
    st.tuples(st.integers(1, 9), st.integers(1, 70)),
    st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 20)),
)


def inverse(x: Tensor) -> Tensor:
    return 1 / (x.square().mean(-1, keepdim=True) + EPS).sqrt()


def cut(seed: int, shape: tuple[int, ...], dtype: torch.dtype, *, view: bool) -> Tensor:
    """Random numbers, as a view of something wider if asked for."""
    if not view:
        return normal(seed, *shape, dtype=dtype)
    return normal(seed, *shape[:-2], shape[-2] + 2, shape[-1], dtype=dtype)[..., 1:-1, :]


@FEW
@given(shapes, st.sampled_from(FORMATS), st.booleans(), st.booleans(), st.integers(0, 99))
@example((1, 2500), torch.bfloat16, True, False, 0)
@example((3, 896), torch.float32, False, True, 1)
@example((5, 1), torch.float32, True, False, 2)
def test_a_norm_is_its_formula(shape: tuple[int, ...], dtype: torch.dtype, gained: bool, view: bool, seed: int) -> None:
    x = cut(seed, shape, dtype, view=view)
    gain = normal(seed + 1, *shape[1:], dtype=dtype) if gained else None
    with poisoned():
        h, r, y = norm(x, EPS, gain)
    exact = x.double() * inverse(x.double())
    near(r, inverse(x.double()))
    near(h, exact)
    assert r.dtype == torch.float32 and h.dtype == y.dtype == dtype and h.is_contiguous()
    if gain is None:
        assert y is h
    else:
        near(y, h.double() * gain.double())


@FEW
@given(shapes, st.sampled_from(FORMATS), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 99))
@example((1, 2500), torch.bfloat16, True, True, False, 0)
@example((70, 33), torch.float32, True, False, True, 1)
def test_its_gradient_is_that_of_autograd(
    shape: tuple[int, ...], dtype: torch.dtype, gained: bool, beside: bool, view: bool, seed: int
) -> None:
    """h and r are given as they were rounded, and what they are rounded from is x = h / r."""
    h, r = norm(normal(seed, *shape, dtype=dtype), EPS)[:2]
    grad = cut(seed + 1, shape, dtype, view=view)
    gain = normal(seed + 2, *shape[1:], dtype=dtype) if gained else None
    residual = normal(seed + 3, *shape, dtype=dtype) if beside else None
    g = grad.double() * (1.0 if gain is None else gain.double())
    mean = (g * h.double()).mean(-1, keepdim=True)
    exact = r.double() * (g - h.double() * mean) + (0.0 if residual is None else residual.double())
    with poisoned():
        got = norm_backward(residual, grad, h, r, gain)
    near(got, exact)
    assert got.dtype == dtype
    if dtype == torch.float32 and not gained and not beside:
        x = (h.double() / r.double()).requires_grad_(True)
        (by_x,) = torch.autograd.grad(x * inverse(x), x, g)
        near(got, by_x, sums=64 * max(1.0, float(r.max())))


def test_a_residual_is_added_in_its_own_memory() -> None:
    h, r, _ = norm(normal(0, 4, 9), EPS)
    residual, grad = normal(1, 4, 9), normal(2, 4, 9)
    before = residual.clone()
    got = norm_backward(residual, grad, h, r)
    assert got.data_ptr() == residual.data_ptr() and not torch.equal(residual, before)
    part = normal(3, 4, 18)
    kept, beside = part.clone(), part[:, :9]
    norm_backward(beside, normal(2, 4, 9), h, r)
    assert torch.equal(part, kept)  # no row of something wider is written


@pytest.mark.parametrize("value", [0.0, 1e-30, 3e4])
@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_rows_of_zeros_and_of_large_numbers_stay_finite(value: float, dtype: torch.dtype) -> None:
    x = torch.full((2, 24), value, dtype=dtype)
    h, r, _ = norm(x, EPS)
    near(h, x.double() * inverse(x.double()))
    near(r, inverse(x.double()))


def test_a_row_does_not_depend_on_the_rows_beside_it() -> None:
    x = normal(0, 300, 50)
    alone = torch.cat([norm(x[at : at + 1], EPS)[0] for at in (0, 7, 299)])
    assert torch.equal(norm(x, EPS)[0][[0, 7, 299]], alone)


def test_no_rows_are_nothing_to_do() -> None:
    h, r, _ = norm(torch.empty(0, 8), EPS)
    assert h.shape == (0, 8) and r.shape == (0, 1)


def test_rows_whose_numbers_do_not_adjoin_are_refused() -> None:
    with pytest.raises(ValueError, match="the last dimension has stride 3"):
        norm(normal(0, 5, 3).t(), EPS)
    with pytest.raises(ValueError, match="kernels hold rows of 65536 at most"):
        norm(torch.zeros(1, 70_000), EPS)
