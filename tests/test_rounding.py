"""What the tolerance of rounding lets pass: the network itself in fp32, and no network with a slip in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import FAMILIES, batch_of, exact_scores, model_of, naive_log_probs, naive_of, rows_of, tokens_of
from rounding import Exact, units
from torch import Tensor

from assay.engine.interface import Span
from assay.policy.transformer import Transformer

pytestmark = pytest.mark.slow

LENGTHS = [80, 1, 33, 150, 2]


def spans(tau: float = 0.8) -> list[Span]:
    return [Span(context, ids, tau) for context, ids in zip(*rows_of(LENGTHS), strict=True)]


def turned(model: Transformer, by: float) -> Transformer:
    model.rotary.inverse.mul_(1 + by)
    return model


def scaled(model: Transformer, name: str, by: float) -> Transformer:
    with torch.no_grad():
        for found, parameter in model.named_parameters():
            if name in found:
                parameter.mul_(by)
    return model


def cut(model: Transformer) -> Transformer:
    """A token does not see the one that stands fifty places before it."""
    plain = model.forward

    def forward(ids: Tensor, positions: Tensor, attend: Callable[..., Tensor]) -> Tensor:
        def blind(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            away = positions[:, None] - positions[None]
            hidden = (away < 0) | (away == 50)
            share, found = q.shape[1] // k.shape[1], []
            for h in range(q.shape[1]):
                scores = (q[:, h] @ k[:, h // share].T / q.shape[2] ** 0.5).masked_fill(hidden, -torch.inf)
                found.append(torch.softmax(scores, -1) @ v[:, h // share])
            return torch.stack(found, 1)

        return plain(ids, positions, blind)

    model.forward = forward  # type: ignore[method-assign]
    return model


SLIPS: dict[str, Callable[[Transformer], Transformer]] = {
    "scores of attention a thousandth too large": lambda model: scaled(model, "q_proj", 1.001),
    "a bias that is left out": lambda model: scaled(model, "layers.1.self_attn.k_proj.bias", 0.0),
    "the last norm a ten-thousandth too large": lambda model: scaled(model, "model.norm", 1.0001),
    "angles a ten-thousandth too wide": lambda model: turned(model, 1e-4),
    "one token that is not seen": cut,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_plain_network_in_fp32_is_within_it(family: str) -> None:
    model, given = model_of(family), spans()
    found = [naive_log_probs(model, s.context, s.ids, 0.8) for s in given]
    picked = [lp.gather(1, torch.from_numpy(s.ids).long()[:, None])[:, 0] for lp, s in zip(found, given, strict=True)]
    exact = exact_scores(model, given)
    exact.require(logp=torch.cat(picked), entropy=torch.cat([-(lp.exp() * lp).sum(-1) for lp in found]))
    assert exact.allowed("logp") < 1e-3, "or it lets slips pass"
    batch = batch_of(*rows_of([5, 1, 9, 3]))
    Exact(model, lambda model: naive_of(model, batch), tokens=tokens_of(batch)).require_all(naive_of(model, batch))


@pytest.mark.parametrize("slip", SLIPS)
def test_a_network_with_a_slip_is_not(slip: str) -> None:
    exact, wrong = exact_scores(model_of("qwen2"), spans()), SLIPS[slip](model_of("qwen2").double())
    found = [naive_log_probs(wrong, s.context, s.ids, 0.8) for s in spans()]
    picked = [lp.gather(1, torch.from_numpy(s.ids).long()[:, None])[:, 0] for lp, s in zip(found, spans(), strict=True)]
    with pytest.raises(AssertionError, match="logp is off by"):
        exact.require(logp=torch.cat(picked))


@pytest.mark.parametrize("slip", ["another temperature", "the token before", "the order of rows"])
def test_what_is_scored_wrongly_is_not(slip: str) -> None:
    exact = exact_scores(model_of("qwen2"), spans())
    logp = exact.values["logp"]
    wrong: dict[str, Any] = {
        "another temperature": exact_scores(model_of("qwen2"), spans(0.8001)).values["logp"],
        "the token before": logp.roll(1),
        "the order of rows": torch.cat([logp[-2:], logp[:-2]]),
    }
    with pytest.raises(AssertionError, match="logp is off by"):
        exact.require(logp=wrong[slip])
    with pytest.raises(AssertionError, match="expected"):
        exact.require(logp=logp[1:])
    with pytest.raises(AssertionError, match="logp is off by nan"):
        exact.require(logp=torch.full_like(logp, torch.nan))


@pytest.mark.parametrize("slip", ["a token", "a term", "a share"])
def test_a_gradient_with_a_slip_is_not(slip: str) -> None:
    """One of 30 tokens left out, the entropy left out, one coefficient a thousandth too large."""
    model, batch = model_of("qwen3"), batch_of(*rows_of([5, 1, 9, 3, 12]))
    exact = Exact(model, lambda model: naive_of(model, batch), tokens=tokens_of(batch))
    advantage = batch.advantage.copy()
    advantage[7] *= {"a token": 0.0, "a share": 1.001}.get(slip, 1.0)
    wrong = dataclasses.replace(batch, advantage=advantage)
    found = naive_of(model_of("qwen3").double(), wrong, spread=0.0 if slip == "a term" else 0.3)
    with pytest.raises(AssertionError, match="rounding in fp32 explains"):
        exact.require_all(found)


def test_in_fp64_it_is_as_much_smaller_as_its_units_are() -> None:
    exact = exact_scores(model_of("llama"), spans())
    assert exact.allowed("logp", "fp64") == pytest.approx(exact.allowed("logp") * 2.0**-29)
    exact.require(format="fp64", logp=exact.values["logp"])
    with pytest.raises(AssertionError, match="rounding in fp64"):
        exact.require(format="fp64", logp=exact.values["logp"].float())


def test_units_are_those_of_the_largest_number() -> None:
    assert units(3) == 3 * 2.0**-23
    assert units(1, np.array([-8.0, 2.0])) == 2.0**-20 and units(1, torch.tensor([]), "fp64") == 2.0**-52
