"""The draws of the kernels, run by Triton's interpreter, against sums in fp64 and against `filtering.draw`.

Run with TRITON_INTERPRET=1. Buffers are NaN or nonsense before they are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from assay.engine.filtering import Drawn, Filters, draw
from assay.engine.torch.kernels.draws import BLOCK, draw_rows

LAST = np.nextafter(1.0, 0.0)
SIZES = st.sampled_from([1, 2, 3, 17, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5, 3 * BLOCK])
INF, NAN = float("inf"), float("nan")


@pytest.fixture(autouse=True, scope="module")
def poisoned() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    assert torch.empty(9).isnan().all()
    yield
    torch.use_deterministic_algorithms(False)


@dataclass(frozen=True, eq=False)
class Exact:
    """What the formulas say of one row of z, in fp64 with sums in long double."""

    z: np.ndarray

    @property
    def weight(self) -> np.ndarray:
        weight = np.exp(self.z - self.z.max())
        return np.where(weight < 2.0**-126, 0, weight)

    @property
    def below(self) -> np.ndarray:
        """The share of the total up to and with each token."""
        sums = np.cumsum(self.weight, dtype=np.longdouble)
        return sums / sums[-1]

    @property
    def logp(self) -> np.ndarray:
        top = self.z.max()
        return self.z - top - np.log(np.exp(self.z - top).sum(dtype=np.longdouble)).astype(float)

    @property
    def entropy(self) -> float:
        p = np.exp(self.logp)
        return float(-(p * np.where(p > 0, self.logp, 0)).sum(dtype=np.longdouble))

    def drawn_by(self, token: int, u: float, near: float) -> bool:
        """Whether `token` is the draw of u, or all boundaries between the two lie within `near` of u."""
        if not self.weight[token] > 0:
            return False
        want = min(int(np.searchsorted(self.below, u, side="right")), int(np.flatnonzero(self.weight)[-1]))
        between = self.below[min(want, token) : max(want, token)]
        return bool((abs(between - u) <= near).all())


def logits_of(kind: str, n: int, vocab: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, vocab, generator=generator) * (20 if kind == "sharp" else 2)
    if kind == "holes":
        x[torch.rand(n, vocab, generator=generator) < 0.7] = -1e30
    if kind == "ties":
        x.round_()
    if kind == "one":
        x.fill_(-1e30)
        x[torch.arange(n), torch.randint(vocab, (n,), generator=generator)] = 7
    return x


def expect(drawn: Drawn, z: Tensor, u: Tensor, greedy: Tensor) -> None:
    assert bool(drawn.finite.all()) and drawn.finite.dtype == torch.bool and drawn.token.dtype == torch.int64
    for i, row in enumerate(z.double().numpy()):
        exact, token = Exact(row), int(drawn.token[i])
        if greedy[i]:
            assert token == int(row.argmax()) and float(drawn.mu[i]) == 0
        else:
            assert exact.drawn_by(token, float(u[i]), 1e-12), f"row {i}: {token} by {float(u[i])!r}"
            assert float(drawn.mu[i]) == float(drawn.old[i])
        for got, want in ((drawn.old[i], exact.logp[token]), (drawn.entropy[i], exact.entropy)):
            assert abs(float(got) - want) <= 1e-6 * max(1.0, min(abs(want), 12.0)), (got, want)


@given(
    st.sampled_from(["plain", "sharp", "holes", "ties", "one"]),
    SIZES,
    st.sampled_from([torch.float32, torch.bfloat16, torch.float16]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 9999),
)
@settings(max_examples=20)
def test_draws_are_those_of_the_formulas(
    kind: str, vocab: int, dtype: torch.dtype, cooled: bool, mixed: bool, seed: int
) -> None:
    """Rows by any u, by the ends of its range, by boundaries between tokens as fp64 has them, and beside these."""
    n, generator = 5, torch.Generator().manual_seed(seed)
    if dtype == torch.float16 and kind in ("holes", "one"):
        dtype = torch.bfloat16  # 1e30 is beyond the range of fp16
    logits = logits_of(kind, n, vocab + 3, seed).to(dtype)[:, :vocab]
    greedy = torch.rand(n, generator=generator) < 0.3 if mixed else torch.zeros(n, dtype=torch.bool)
    tau = torch.rand(n, generator=generator) * 1.5 + 0.2
    tau[greedy] = 1
    z = logits.float() / tau[:, None] if cooled else logits.float()
    u = torch.rand(n, generator=generator, dtype=torch.float64)
    u[0], u[1] = 0, LAST
    for row, off in ((2, 0), (3, -1e-10), (4, 1e-10)):
        boundary = float(Exact(z[row].double().numpy()).below[seed % vocab])
        u[row] = min(max(boundary + off, 0.0), LAST)
    drawn = draw_rows(logits, u, tau if cooled else None, greedy if mixed else None)
    expect(drawn, z, u, greedy)


@given(SIZES, st.integers(0, 9999))
@settings(max_examples=10)
def test_draws_are_those_of_filtering(vocab: int, seed: int) -> None:
    n, generator = 5, torch.Generator().manual_seed(seed)
    logits, u = logits_of("plain", n, vocab, seed), torch.rand(n, generator=generator, dtype=torch.float64)
    tau, greedy = torch.tensor([1, 0.5, 1.3, 1, 0.9]), torch.tensor([False, False, False, True, False])
    got, want = draw_rows(logits, u, tau, greedy), draw(logits, u, Filters(tau, greedy))
    for i, row in enumerate((logits / tau[:, None]).double().numpy()):
        exact = Exact(row)
        assert greedy[i] or all(exact.drawn_by(int(one.token[i]), float(u[i]), 1e-5) for one in (got, want))
    same = got.token == want.token
    assert same[3]
    for name in ("old", "mu", "entropy"):
        one, two = getattr(got, name)[same], getattr(want, name)[same]
        torch.testing.assert_close(one, two, atol=2e-5, rtol=0)


@pytest.mark.parametrize("vocab", [1, 100, 2 * BLOCK + 5])
def test_equal_logits_share_the_range_equally(vocab: int) -> None:
    """All weights are 1 and all sums are whole numbers, so that the draw is floor(u * V) to the last digit."""
    u = torch.tensor([0, 0.25, 1 / 3, 0.5, 0.999, LAST], dtype=torch.float64)
    drawn = draw_rows(torch.full((6, vocab), -3.0), u)
    assert drawn.token.tolist() == [int(x * vocab) for x in u.tolist()]
    torch.testing.assert_close(drawn.entropy, torch.full((6,), float(np.log(vocab))), atol=1e-6, rtol=1e-7)
    torch.testing.assert_close(drawn.old, torch.full((6,), -float(np.log(vocab))), atol=1e-6, rtol=1e-7)


def test_a_token_of_weight_zero_is_never_drawn() -> None:
    """Neither before the first token that has a weight, nor behind the last, nor in a block without any."""
    logits = torch.full((4, 4 * BLOCK), -1e30)
    logits[:, BLOCK + 7] = 1
    logits[:, 3 * BLOCK + 9] = 1
    logits[:, 5] = -87.0  # 88 below: a weight of less than 2^-126
    drawn = draw_rows(logits, torch.tensor([0, 0.4999, 0.5, LAST], dtype=torch.float64))
    assert drawn.token.tolist() == [BLOCK + 7] * 2 + [3 * BLOCK + 9] * 2
    logits[:, 5] = -86.0  # 87 below
    assert draw_rows(logits, torch.zeros(4, dtype=torch.float64)).token.tolist() == [5] * 4


def test_greedy_takes_the_lowest_of_equal_tokens() -> None:
    logits = torch.zeros(2, 2 * BLOCK + 9)
    logits[0, [BLOCK + 3, BLOCK + 8, 2 * BLOCK + 1]] = 2.5
    drawn = draw_rows(logits, torch.tensor([0.9, 0.9], dtype=torch.float64), greedy=torch.tensor([True, True]))
    assert drawn.token.tolist() == [BLOCK + 3, 0] and drawn.mu.tolist() == [0, 0]


@pytest.mark.parametrize("wrong", [NAN, INF, -INF])
@pytest.mark.parametrize("sure", [False, True])
def test_logits_that_are_not_finite_are_told(wrong: float, sure: bool) -> None:
    """By row; other rows are drawn as ever, and the token is one of the vocabulary whatever the logits are."""
    logits = logits_of("plain", 5, 2 * BLOCK + 9, 1)
    plain = logits.clone()
    logits[0, 0] = logits[1, 2 * BLOCK + 8] = logits[2, BLOCK : 2 * BLOCK] = wrong
    logits[3] = wrong
    u = torch.full((5,), 0.7, dtype=torch.float64)
    greedy = torch.full((5,), sure)
    drawn, want = draw_rows(logits, u, greedy=greedy), draw_rows(plain, u, greedy=greedy)
    assert drawn.finite.tolist() == [False] * 4 + [True]
    assert drawn.token.tolist() == [0] * 4 + [int(want.token[4])]
    assert drawn.old[:4].isnan().all() and drawn.mu[:4].isnan().all() and drawn.entropy[:4].isnan().all()
    assert drawn.old[4] == want.old[4] and drawn.entropy[4] == want.entropy[4]


def test_a_row_does_not_depend_on_the_rows_beside_it() -> None:
    logits, u = logits_of("sharp", 3, BLOCK + 9, 5), torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
    tau = torch.tensor([0.5, 1.0, 2.0])
    together = draw_rows(logits, u, tau)
    for i in range(3):
        alone = draw_rows(logits[i : i + 1], u[i : i + 1], tau[i : i + 1])
        for name in ("token", "old", "mu", "entropy"):
            assert torch.equal(getattr(alone, name), getattr(together, name)[i : i + 1])


def test_no_rows_are_no_work() -> None:
    assert draw_rows(torch.zeros(0, 9), torch.zeros(0, dtype=torch.float64)).token.shape == (0,)
