"""Frequencies against hand formulas, and what `fit` means for packed rows and for decoding from a cache."""

from __future__ import annotations

import math

import pytest
import torch
from rounding import units
from torch import Tensor

from assay.errors import ConfigError
from assay.policy import PolicyConfig, Rope, Transformer
from assay.policy.rope import attention_scale, frequencies

D, CONTEXT = 8, 32

FEW = units(32)  # a power theta^-x rounds its exponent, of up to ln(theta) x = 14, and then itself


def config(rope: Rope) -> PolicyConfig:
    return PolicyConfig("llama", 31, 32, 2, 4, 2, D, 40, CONTEXT, rope=rope)


def expected(theta: float) -> list[float]:
    return [theta ** (-2 * i / D) for i in range(D // 2)]


LONG = Rope("longrope", factor=4.0, original_context=16, short_factor=(1.0, 2.0, 3.0, 4.0), long_factor=(2.0,) * 4)
DYNAMIC = Rope("dynamic", factor=2.0)


def test_default_and_linear() -> None:
    assert frequencies(config(Rope(theta=500.0)), length=9).tolist() == pytest.approx(expected(500.0), rel=FEW)
    by_three = [f / 3 for f in expected(500.0)]
    assert frequencies(config(Rope("linear", theta=500.0, factor=3.0)), length=9).tolist() == pytest.approx(
        by_three, rel=FEW
    )


@pytest.mark.parametrize("length", [1, CONTEXT, CONTEXT + 1, 5 * CONTEXT])
def test_dynamic_grows_theta_beyond_the_context(length: int) -> None:
    stretch = max(1.0, 2.0 * length / CONTEXT - 1.0)
    theta = 10000.0 * stretch ** (D / (D - 2))
    assert frequencies(config(DYNAMIC), length=length).tolist() == pytest.approx(expected(theta), rel=FEW)


def test_longrope_changes_its_factors_one_token_after_the_original_context() -> None:
    plain = expected(10000.0)
    short = [f / s for f, s in zip(plain, (1, 2, 3, 4), strict=True)]
    assert frequencies(config(LONG), length=16).tolist() == pytest.approx(short, rel=FEW)
    assert frequencies(config(LONG), length=17).tolist() == pytest.approx([f / 2 for f in plain], rel=FEW)
    assert attention_scale(config(LONG)) == pytest.approx(math.sqrt(1 + math.log(4) / math.log(16)))


def test_llama3_keeps_short_waves_and_slows_long_ones() -> None:
    rope = Rope("llama3", factor=8.0, original_context=64, low_freq_factor=1.0, high_freq_factor=4.0)
    # Wavelengths are 6.28, 62.8, 628, 6283; 64/4 = 16 and 64/1 = 64 are the limits.
    blend = (64 / (2 * math.pi * 10) - 1) / 3
    middle = 0.1 * (blend + (1 - blend) / 8)
    assert frequencies(config(rope), length=9).tolist() == pytest.approx([1.0, middle, 0.01 / 8, 0.001 / 8], rel=FEW)


def test_yarn_ramp_and_scale() -> None:
    rope = Rope("yarn", factor=4.0, original_context=64)
    # Limits of the ramp: 32 turns: 8 ln(64 / (64 pi)) / (2 ln 1e4) < 0, so 0; 1 turn: 8 ln(64 / 2 pi) / (2 ln 1e4) =
    # 1.008, so 2.
    blended = [f / 4 * r + f * (1 - r) for f, r in zip(expected(10000.0), (0.0, 0.5, 1.0, 1.0), strict=True)]
    assert frequencies(config(rope), length=9).tolist() == pytest.approx(blended, rel=FEW)
    assert attention_scale(config(rope)) == pytest.approx(0.1 * math.log(4) + 1)


class Cache:
    """Keys and values of the tokens seen so far, as they were turned when they were new."""

    def __init__(self) -> None:
        self.keys: dict[int, Tensor] = {}
        self.values: dict[int, Tensor] = {}

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if layer in self.keys:
            k, v = torch.cat([self.keys[layer], k]), torch.cat([self.values[layer], v])
        self.keys[layer], self.values[layer] = k, v
        n, heads, d = q.shape
        k, v = (x.repeat_interleave(heads // x.shape[1], 1).transpose(0, 1) for x in (k, v))
        scores = q.transpose(0, 1) @ k.transpose(1, 2) * d**-0.5
        future = torch.ones(n, k.shape[1], dtype=torch.bool).triu(1 + k.shape[1] - n)
        return (torch.softmax(scores.masked_fill(future, float("-inf")), -1) @ v).transpose(0, 1)


def network(rope: Rope) -> Transformer:
    transformer = Transformer(config(rope)).double()
    return transformer.initialise(torch.Generator().manual_seed(3))


@torch.no_grad()
def whole(transformer: Transformer, ids: Tensor) -> Tensor:
    return transformer(ids, torch.arange(len(ids)), Cache())


@torch.no_grad()
def stepwise(transformer: Transformer, ids: Tensor) -> Tensor:
    cache = Cache()
    return torch.cat([transformer(ids[i : i + 1], torch.tensor([i]), cache) for i in range(len(ids))])


@pytest.mark.parametrize("rope", [Rope(), LONG, DYNAMIC], ids=lambda rope: rope.kind)
def test_fitted_decoding_from_a_cache_is_the_full_forward(rope: Rope) -> None:
    ids = torch.arange(48) % 31
    transformer = network(rope)
    alone = whole(transformer, ids)
    fitted = transformer.fit(len(ids))
    assert torch.equal(whole(fitted, ids), alone)
    torch.testing.assert_close(stepwise(fitted, ids), alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rope", [LONG, DYNAMIC], ids=lambda rope: rope.kind)
def test_unfitted_decoding_from_a_cache_is_not(rope: Rope) -> None:
    ids = torch.arange(48) % 31
    transformer = network(rope)
    assert (stepwise(transformer, ids) - whole(transformer, ids)).abs().max() > 1e-4


def test_fitted_rows_do_not_depend_on_what_they_are_packed_with() -> None:
    transformer = network(LONG).fit(40)
    turned = [transformer.rotary(torch.arange(n), torch.float64)(torch.ones(n, 1, D).double())[:8] for n in (8, 40)]
    assert torch.equal(*turned)
    transformer.fit(None)
    turned = [transformer.rotary(torch.arange(n), torch.float64)(torch.ones(n, 1, D).double())[:8] for n in (8, 40)]
    assert not torch.equal(*turned)


def test_fit_survives_moves_and_refuses_nonsense() -> None:
    transformer = network(LONG).fit(40)
    fitted = transformer.rotary.inverse.clone()
    assert torch.equal(transformer.to(torch.bfloat16).rotary.inverse, fitted)
    with pytest.raises(ConfigError, match="at least 1, not 0"):
        transformer.fit(0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Rope("yarn", factor=2.0), "rope 'yarn' needs original_context"),
        (lambda: Rope("linear", beta_fast=3.0), "rope 'linear' has no beta_fast"),
        (lambda: Rope("llama3", 1e4, 8.0, 64, 4.0, 4.0), "0 < low_freq_factor < high_freq_factor, not 4.0 and 4.0"),
        (lambda: Rope("linear", factor=0.0), "must be positive"),
        (lambda: Rope("su"), "rope kind 'su' is not one of default"),  # pyright: ignore[reportArgumentType]
        (lambda: PolicyConfig("llama", 31, 32, 2, 4, 2, 10, 40, 64, rope=LONG), "long_factor needs head_dim / 2 = 5"),
    ],
)
def test_impossible_ropes_are_refused(build, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build()
