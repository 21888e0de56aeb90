"""The fused rotations equal their formulas: each pair of numbers is turned by an angle, before it perhaps normed."""

from __future__ import annotations

import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nearness import FORMATS, near, normal, poisoned
from torch import Tensor

from assay.engine.torch.kernels.rotations import turn, turn_backward, turn_normed

EPS = 1e-5
FEW = settings(max_examples=20, deadline=None)
cases = given(
    st.integers(1, 7),
    st.integers(1, 5),
    st.integers(1, 40),
    st.sampled_from(FORMATS),
    st.booleans(),
    st.integers(0, 99),
)
real = example(3, 16, 64, torch.bfloat16, True, 0)


def angles(seed: int, tokens: int, half: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Cosines and signed sines as the network has them, and e^(i angle) [tokens, 1, half], rounded as these are."""
    angle = normal(seed, tokens, 1, half, scale=3.0)
    cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)
    return torch.cat([cos, cos], -1), torch.cat([-sin, sin], -1), torch.complex(cos.double(), sin.double())


def turned(x: Tensor, by: Tensor) -> Tensor:
    """The pairs (x_i, x_{i + half}) as complex numbers, times `by`."""
    half = x.shape[-1] // 2
    product = torch.complex(x[..., :half], x[..., half:]) * by
    return torch.cat([product.real, product.imag], -1)


def heads_of(seed: int, tokens: int, heads: int, d: int, dtype: torch.dtype, *, view: bool) -> Tensor:
    """Queries and keys; as a view, they are the first heads of a product that has the values too."""
    return normal(seed, tokens, heads + 2 * view, d, dtype=dtype)[:, :heads]


@FEW
@cases
@real
def test_pairs_are_turned_by_their_angles(
    tokens: int, heads: int, half: int, dtype: torch.dtype, view: bool, seed: int
) -> None:
    x = heads_of(seed, tokens, heads, 2 * half, dtype, view=view)
    cos, sin, by = angles(seed + 1, tokens, half, dtype)
    with poisoned():
        got, back = turn(x, cos, sin), turn_backward(x, cos, sin)
    near(got, turned(x.double(), by))
    near(back, turned(x.double(), by.conj()))
    assert got.is_contiguous() and back.is_contiguous() and got.dtype == dtype


@FEW
@cases
@real
def test_normed_heads_are_scaled_and_turned(
    tokens: int, heads: int, half: int, dtype: torch.dtype, view: bool, seed: int
) -> None:
    d = 2 * half
    x, weight = heads_of(seed, tokens, heads, d, dtype, view=view), normal(seed + 2, heads, d, dtype=dtype)
    cos, sin, by = angles(seed + 1, tokens, half, dtype)
    with poisoned():
        got, h, r = turn_normed(x, EPS, weight, cos, sin)
    exact = 1 / (x.double().square().mean(-1, keepdim=True) + EPS).sqrt()
    near(r, exact)
    near(h, x.double() * exact)
    near(got, turned(h.double() * weight.double(), by))
    assert r.shape == (tokens, heads, 1) and r.dtype == torch.float32


def test_the_gradient_of_a_rotation_is_that_of_autograd() -> None:
    x, grad = normal(0, 5, 3, 12).double().requires_grad_(True), normal(1, 5, 3, 12)
    cos, sin, by = angles(2, 5, 6, torch.float32)
    (by_x,) = torch.autograd.grad(turned(x, by), x, grad.double())
    near(turn_backward(grad, cos, sin), by_x)
