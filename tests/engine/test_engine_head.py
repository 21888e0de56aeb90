"""The chunked output layer: its gradient is autograd's, and nothing large is ever made."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from assay.engine import head
from assay.engine.head import Coefficients, pull, read


class Largest(TorchDispatchMode):
    """Remembers the most elements of any tensor that an operation returned."""

    elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, Tensor):
                self.elements = max(self.elements, tensor.numel())
        return result


def case(tokens: int = 11, vocab: int = 7, size: int = 5, further: int = 3) -> dict[str, Tensor]:
    g = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=g, dtype=torch.float64)

    return {
        "hidden": normal(tokens, size),
        "weight": normal(vocab, size),
        "ids": torch.randint(vocab, (tokens,), generator=g),
        "tau": 0.5 + torch.rand(tokens, generator=g, dtype=torch.float64),
        "top_ids": torch.randint(vocab, (tokens, further), generator=g),
        "c": normal(tokens),
        "e": normal(tokens),
        "k": normal(tokens, further),
    }


def plain(x: dict[str, Tensor], *, logp: bool, entropy: bool, top: bool) -> tuple[Tensor, Tensor]:
    """Gradients by hidden states and weights of the whole loss, from autograd over the dense log-softmax."""
    hidden, weight = x["hidden"].clone().requires_grad_(), x["weight"].clone().requires_grad_()
    lp = torch.log_softmax(hidden @ weight.T / x["tau"][:, None], -1)
    loss = hidden.sum() * 0 + weight.sum() * 0
    if logp:
        loss = loss + (x["c"] * lp.gather(-1, x["ids"][:, None])[:, 0]).sum()
    if entropy:
        loss = loss - (x["e"] * (lp.exp() * lp).sum(-1)).sum()
    if top:
        loss = loss + (x["k"] * lp.gather(-1, x["top_ids"])).sum()
    return torch.autograd.grad(loss, (hidden, weight))  # type: ignore[return-value]


@pytest.mark.parametrize("at_once", [1 << 24, 21, 7])
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize(
    ("logp", "entropy", "top"), [(True, False, False), (True, True, True), (False, True, False), (False, False, True)]
)
def test_gradient_is_that_of_the_dense_log_softmax(
    monkeypatch: pytest.MonkeyPatch, at_once: int, kept: bool, logp: bool, entropy: bool, top: bool
) -> None:
    monkeypatch.setattr(head, "LOGITS", at_once)
    monkeypatch.setattr(head, "CACHED", 21)  # three tokens at a time
    x = case()
    x["c"][2] = x["e"][2] = x["c"][7] = 0
    x["k"][2] = 0
    out = read(
        x["hidden"],
        x["weight"],
        x["ids"],
        x["tau"],
        entropy=True,
        top_ids=x["top_ids"],
        mean_logp=True,
        keep=kept,
    )
    lp = torch.log_softmax(x["hidden"] @ x["weight"].T / x["tau"][:, None], -1)
    torch.testing.assert_close(out.logp, lp.gather(-1, x["ids"][:, None])[:, 0], atol=1e-12, rtol=0)
    torch.testing.assert_close(out.entropy, -(lp.exp() * lp).sum(-1), atol=1e-12, rtol=0)
    torch.testing.assert_close(out.mean_logp, lp.mean(-1), atol=1e-12, rtol=0)
    torch.testing.assert_close(out.top_logp, lp.gather(-1, x["top_ids"]), atol=1e-12, rtol=0)
    grad = torch.ones_like(x["weight"])
    coefficients = Coefficients(x["c"] if logp else None, x["e"] if entropy else None, x["k"] if top else None)
    by_hidden = pull(
        x["hidden"],
        x["weight"],
        x["ids"],
        x["tau"],
        coefficients,
        grad,
        top_ids=x["top_ids"],
        all_logp=out.all_logp,
    )
    want_hidden, want_weight = plain(x, logp=logp, entropy=entropy, top=top)
    torch.testing.assert_close(by_hidden, want_hidden, atol=1e-10, rtol=0)
    torch.testing.assert_close(grad - 1, want_weight, atol=1e-10, rtol=0)


def test_no_coefficient_no_gradient() -> None:
    x = case()
    grad = torch.zeros_like(x["weight"])
    for none in (Coefficients(), Coefficients(logp=torch.zeros(11, dtype=torch.float64))):
        assert not pull(x["hidden"], x["weight"], x["ids"], x["tau"], none, grad).any()
    assert not grad.any()


@pytest.mark.slow
def test_tokens_without_a_coefficient_cost_nothing() -> None:
    x = case(tokens=1000, vocab=50, size=2)
    c = torch.zeros(1000, dtype=torch.float64)
    c[17] = 1.0
    with Largest() as largest:
        pull(x["hidden"], x["weight"], x["ids"], x["tau"], Coefficients(logp=c), torch.zeros_like(x["weight"]))
    assert largest.elements <= 1000 * 2


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_large_vocabulary_never_makes_a_large_tensor() -> None:
    tokens, vocab, size = 4000, 150_000, 4
    hidden, weight = torch.randn(tokens, size), torch.randn(vocab, size)
    ids, tau = torch.randint(vocab, (tokens,)), torch.ones(tokens)
    c = torch.zeros(tokens)
    c[::8] = 1.0
    with Largest() as largest:
        out = read(hidden, weight, ids, tau, entropy=False, keep=True)
        pull(hidden, weight, ids, tau, Coefficients(logp=c), torch.zeros_like(weight), all_logp=out.all_logp)
    assert largest.elements <= 16 * 2**20 < tokens * vocab / 30
