"""The tiled output layer: log-probabilities, entropies and gradients equal those of the dense softmax in fp64."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from nearness import FORMATS, near, normal, poisoned
from torch import Tensor
from typed import present

from assay.engine import head
from assay.engine.head import Coefficients
from assay.engine.torch.kernels import output
from assay.engine.torch.kernels.output import pull, read

FEW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
BLOCK = 128  # columns of a tile, at most


@pytest.fixture(autouse=True)
def _short_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program goes over two tiles in place of thirty-two, so that small vocabularies have several spans."""
    monkeypatch.setattr(output, "SPAN", 2 * BLOCK)


def case(tokens: int, size: int, vocab: int, further: int, dtype: torch.dtype, seed: int = 0) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(vocab, (tokens, 1 + further), generator=generator)
    return {
        "hidden": normal(seed, tokens, size, dtype=dtype),
        "weight": normal(seed + 1, vocab, size, dtype=dtype, scale=2 * size**-0.5),
        "ids": ids[:, 0],
        "tau": 0.5 + torch.rand(tokens, generator=generator),
        "top_ids": ids[:, 1:] if further else None,
        "c": normal(seed + 2, tokens),
        "e": normal(seed + 3, tokens),
        "k": normal(seed + 4, tokens, further) if further else None,
    }


def dense(x: dict[str, Any], *, entropy: bool) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    """(results, the gradients by hidden states and by weights) from autograd over the dense softmax in fp64."""
    hidden, weight = (x[name].double().requires_grad_(True) for name in ("hidden", "weight"))
    lp = torch.log_softmax(hidden @ weight.T / x["tau"].double()[:, None], -1)
    results = {"logp": lp.gather(-1, x["ids"][:, None])[:, 0], "entropy": -(lp.exp() * lp).sum(-1)}
    loss = (x["c"].double() * results["logp"]).sum()
    if entropy:
        loss = loss + (x["e"].double() * results["entropy"]).sum()
    if x["top_ids"] is not None:
        results["top_logp"] = lp.gather(-1, x["top_ids"])
        loss = loss + (x["k"].double() * results["top_logp"]).sum()
    by_hidden, by_weight = torch.autograd.grad(loss, (hidden, weight))
    return {name: value.detach() for name, value in results.items()}, by_hidden, by_weight


def both_passes(x: dict[str, Any], *, entropy: bool) -> tuple[Any, Tensor, Tensor]:
    grad = torch.ones(x["weight"].shape)
    with poisoned():
        out = read(x["hidden"], x["weight"], x["ids"], x["tau"], entropy=entropy, top_ids=x["top_ids"])
        given_ = Coefficients(x["c"], x["e"] if entropy else None, x["k"])
        arguments = (x["hidden"], x["weight"], x["ids"], x["tau"], given_, grad)
        by_hidden = pull(*arguments, readout=out, top_ids=x["top_ids"])
    return out, by_hidden, grad - 1


@FEW
@given(
    st.integers(1, 150),
    st.integers(1, 70),
    st.integers(2, 600),
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from(FORMATS),
    st.integers(0, 99),
)
@example(129, 64, 512, 2, True, torch.bfloat16, 0)
@example(1, 33, 257, 1, True, torch.float32, 1)
@example(65, 32, 256, 0, False, torch.float32, 2)
def test_results_and_gradients_are_those_of_the_dense_softmax(
    tokens: int, size: int, vocab: int, further: int, entropy: bool, dtype: torch.dtype, seed: int
) -> None:
    x = case(tokens, size, vocab, further, dtype, seed)
    out, by_hidden, by_weight = both_passes(x, entropy=entropy)
    results, hidden_exact, weight_exact = dense(x, entropy=entropy)
    # a logit is rounded to the format and divided by tau; what moves it moves its log-probability, and p by as much
    heat = 2 * (2.0 if dtype == torch.float32 else float((x["hidden"].double() @ x["weight"].double().T).abs().max()))
    near(out.logp, results["logp"], sums=64 + heat * torch.finfo(dtype).eps * 2**23)
    if entropy:
        near(out.entropy, results["entropy"], sums=64 + 2 * heat * torch.finfo(dtype).eps * 2**23)
    else:
        assert out.entropy is None
    if further:
        near(out.top_logp, results["top_logp"], sums=64 + heat * torch.finfo(dtype).eps * 2**23)
    near(by_hidden, hidden_exact, roundings=4 * heat, sums=64)
    near(by_weight, weight_exact, roundings=4 * heat * torch.finfo(dtype).eps * 2**23, sums=64)
    assert out.logp.dtype == torch.float32 and by_hidden.dtype == dtype
    assert (out.logp <= 0).all()


def test_rows_of_the_output_layer_that_are_no_tokens_are_left_out() -> None:
    """The weight is a view of a longer one, whose further rows are NaN, and hidden states are one of wider ones."""
    x = case(40, 24, 130, 2, torch.float32)
    whole = torch.cat([x["weight"], torch.full((70, 24), torch.nan)])
    wider = torch.cat([x["hidden"], torch.full((40, 5), torch.nan)], 1)
    y = {**x, "weight": whole[:130], "hidden": wider[:, :24]}
    (got, *grads), (want, *expected) = both_passes(y, entropy=True), both_passes(x, entropy=True)
    assert torch.equal(got.logp, want.logp) and torch.equal(present(got.entropy), present(want.entropy))
    assert all(torch.equal(one, other) for one, other in zip(grads, expected, strict=True))


def test_an_id_beyond_the_vocabulary_has_no_logp() -> None:
    x = case(5, 8, 20, 1, torch.float32)
    x["ids"] = torch.tensor([3, 20, 19, -1, 0])
    out = read(x["hidden"], x["weight"], x["ids"], x["tau"], top_ids=x["ids"][:, None])
    assert out.logp.isnan().tolist() == [False, True, False, True, False]
    assert out.top_logp is not None and torch.equal(out.top_logp[:, 0].isnan(), out.logp.isnan())


def test_padding_without_coefficients_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows without a coefficient may hold any id and any hidden state; the others are computed some at a time."""
    monkeypatch.setattr(output, "rows_at_once", lambda vocab, itemsize: 7)
    x = case(60, 16, 90, 2, torch.float32)
    shut = torch.zeros(60, dtype=torch.bool)
    shut[[0, 5, 6, 7, 30, 59]] = True
    for name in ("c", "e", "k"):
        x[name][shut] = 0
    out, by_hidden, by_weight = both_passes(x, entropy=True)
    _, hidden_exact, weight_exact = dense(x, entropy=True)
    near(by_hidden, hidden_exact, sums=64)
    near(by_weight, weight_exact, sums=64)
    assert not by_hidden[shut].any()
    x["hidden"][shut], x["ids"] = torch.nan, torch.where(shut, 10**6, x["ids"])
    given_ = Coefficients(x["c"], x["e"], x["k"])
    grad = torch.ones(x["weight"].shape)
    again = pull(x["hidden"], x["weight"], x["ids"], x["tau"], given_, grad, readout=out, top_ids=x["top_ids"])
    assert torch.equal(again, by_hidden) and torch.equal(grad - 1, by_weight)


def test_no_coefficient_no_gradient() -> None:
    x = case(9, 8, 20, 0, torch.float32)
    out = read(x["hidden"], x["weight"], x["ids"], x["tau"])
    grad = torch.zeros(20, 8)
    for none in (Coefficients(), Coefficients(logp=torch.zeros(9))):
        assert not pull(x["hidden"], x["weight"], x["ids"], x["tau"], none, grad, readout=out).any()
    assert not grad.any()


@pytest.mark.parametrize("given_", [("e",), ("k",)])
def test_one_kind_of_coefficient_alone(given_: tuple[str, ...]) -> None:
    x = case(30, 16, 300, 2, torch.float32)
    x |= {name: torch.zeros_like(x[name]) for name in ("c", "e", "k") if name not in given_}
    out = read(x["hidden"], x["weight"], x["ids"], x["tau"], entropy=True, top_ids=x["top_ids"])
    alone = Coefficients(None, x["e"] if "e" in given_ else None, x["k"] if "k" in given_ else None)
    arguments = (x["hidden"], x["weight"], x["ids"], x["tau"], alone, None)
    _, exact, _ = dense(x, entropy=True)
    near(pull(*arguments, readout=out, top_ids=x["top_ids"]), exact, sums=64)


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_large_logits_stay_finite_and_certain(dtype: torch.dtype) -> None:
    hidden = torch.tensor([[300.0, 0.0], [0.0, 300.0], [-300.0, -300.0]], dtype=dtype)
    weight = torch.zeros(150, 2, dtype=dtype)
    weight[0, 0] = weight[140, 1] = 1
    ids, tau = torch.tensor([0, 0, 1]), torch.ones(3)
    out = read(hidden, weight, ids, tau, entropy=True)
    want = torch.tensor([0.0, -300.0, -math.log(148)], dtype=torch.float64)
    near(out.logp, want, roundings=0)
    near(present(out.entropy), torch.tensor([0.0, 0.0, math.log(148)], dtype=torch.float64), roundings=0)
    grad = torch.zeros(150, 2)
    by_hidden = pull(hidden, weight, ids, tau, Coefficients(torch.ones(3), torch.ones(3)), grad, readout=out)
    assert torch.isfinite(by_hidden).all() and torch.isfinite(grad).all()
    near(by_hidden[1], torch.tensor([1.0, -1.0], dtype=torch.float64))


def test_a_row_does_not_depend_on_the_rows_beside_it() -> None:
    x = case(140, 24, 300, 1, torch.float32)
    out = read(x["hidden"], x["weight"], x["ids"], x["tau"], entropy=True)
    for at in (0, 63, 64, 139):
        cut = slice(at, at + 1)
        one = read(x["hidden"][cut], x["weight"], x["ids"][cut], x["tau"][cut], entropy=True)
        assert torch.equal(one.logp, out.logp[cut]) and torch.equal(present(one.entropy), present(out.entropy)[cut])


@pytest.mark.parametrize("wanted", [{"mean_logp": True}, {"likeliest": 2}])
def test_what_no_loss_is_differentiated_by_is_read_by_torch(wanted: dict[str, Any]) -> None:
    x = case(6, 8, 20, 1, torch.float32)
    about = {"entropy": True, "top_ids": x["top_ids"], **wanted}
    got = read(x["hidden"], x["weight"], x["ids"], x["tau"], **about, keep=True)
    want = head.read(x["hidden"], x["weight"], x["ids"], x["tau"], **about, keep=True)
    assert got.lse is None and got.all_logp is not None
    for name in ("logp", "entropy", "top_logp", *(("mean_logp",) if "mean_logp" in wanted else ("likeliest",))):
        assert torch.equal(getattr(got, name), getattr(want, name))
    given_ = Coefficients(x["c"], x["e"], x["k"])
    arguments = (x["hidden"], x["weight"], x["ids"], x["tau"], given_, None)
    back = pull(*arguments, readout=got, top_ids=x["top_ids"])
    assert torch.equal(back, head.pull(*arguments, top_ids=x["top_ids"], all_logp=want.all_logp))


def test_memory_of_the_backward_pass_is_bounded() -> None:
    for itemsize in (2, 4):
        rows = output.rows_at_once(151_936, itemsize)
        assert rows * 151_936 * itemsize <= 1 << 30 < (rows + 1) * 151_936 * itemsize
    assert output.rows_at_once(10**10, 4) == 1
