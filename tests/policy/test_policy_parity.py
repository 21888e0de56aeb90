"""Logits of our transformer against the `transformers` implementation of the same weights, in fp32."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from rounding import Exact
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM

from assay.policy import Transformer, config_from_hf

ORIGINAL, LENGTH, VOCAB = 32, 48, 61

ROPES: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 2.0},
    "llama3": {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": ORIGINAL,
    },
    "yarn": {"factor": 4.0, "original_max_position_embeddings": ORIGINAL},
    "longrope": {"factor": 4.0, "original_max_position_embeddings": ORIGINAL},
}


def causal(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """softmax(q k / sqrt(d)) v over one row, written out."""
    n, heads, d = q.shape
    k, v = (x.repeat_interleave(heads // x.shape[1], 1).transpose(0, 1) for x in (k, v))
    scores = q.transpose(0, 1) @ k.transpose(1, 2) * d**-0.5
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
    return (torch.softmax(scores.masked_fill(hidden, float("-inf")), -1) @ v).transpose(0, 1)


def reference(
    family: str, *, tied: bool, kv_heads: int, head_dim: int, rope: str, bias: bool, extra: dict | None = None
) -> Any:
    """A transformers model whose weights are scaled so that its logits spread by at least 3."""
    parameters = {"rope_type": rope, "rope_theta": 10000.0, **ROPES[rope], **(extra or {})}
    if rope == "longrope":
        parameters["short_factor"] = [1.0 + 0.1 * i for i in range(head_dim // 2)]
        parameters["long_factor"] = [1.5 + i for i in range(head_dim // 2)]
    biases = {"llama": {"attention_bias": bias, "mlp_bias": bias}, "qwen3": {"attention_bias": bias}, "qwen2": {}}
    config = AutoConfig.for_model(
        family,
        vocab_size=VOCAB,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        tie_word_embeddings=tied,
        # For `dynamic` this is the original length itself; the others stretch from ORIGINAL to it.
        max_position_embeddings=ORIGINAL if rope == "dynamic" else 4 * ORIGINAL,
        rope_parameters=parameters,
        **biases[family],
    )
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                parameter.uniform_(0.5, 1.5, generator=generator)
            elif name.endswith("bias"):
                parameter.normal_(0, 0.3, generator=generator)
            elif "embed" in name or "lm_head" in name:
                parameter.normal_(0, 0.6, generator=generator)
            else:
                parameter.normal_(0, 1.5 * parameter.shape[1] ** -0.5, generator=generator)
    return model


def ours(model: Any, **changes: Any) -> Transformer:
    transformer = Transformer(config_from_hf({**model.config.to_dict(), **changes}))
    transformer.load_state_dict(model.state_dict(), strict=True)
    return transformer


def row(length: int = LENGTH) -> Tensor:
    return torch.randint(VOCAB, (length,), generator=torch.Generator().manual_seed(length))


@torch.no_grad()
def logits(transformer: Transformer, ids: Tensor) -> Tensor:
    return transformer.logits(transformer(ids, torch.arange(len(ids)), causal))


@torch.no_grad()
def check(model: Any, length: int = LENGTH) -> None:
    ids, mine = row(length), ours(model)
    expected = model(ids[None]).logits[0]
    assert expected.std() >= 3
    exact = Exact(mine, lambda network: {"logits": logits(network, ids)}, tokens=length)
    exact.require(logits=expected)
    exact.require(logits=logits(mine, ids))


@pytest.mark.parametrize(("family", "rope"), [("llama", "llama3"), ("qwen2", "yarn"), ("qwen3", "default")])
def test_logits_equal_transformers_in_each_family(family: str, rope: str) -> None:
    check(reference(family, tied=family == "qwen2", kv_heads=2, head_dim=12, rope=rope, bias=family == "llama"))


VARIANTS: list[dict[str, Any]] = [
    {"family": family, "tied": tied, "kv_heads": kv_heads, "head_dim": head_dim, "rope": rope, "bias": bias}
    for family, tied, kv_heads, head_dim, rope, bias in itertools.product(
        ("llama", "qwen2", "qwen3"), (True, False), (1, 2, 4), (8, 12), ROPES, (False, True)
    )
    if not (family == "qwen2" and not bias)  # Qwen2 always has its biases
]


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("rope", ROPES)
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_logits_equal_transformers_over_the_cross_product(family: str, rope: str) -> None:
    chosen = [variant for variant in VARIANTS if variant["family"] == family and variant["rope"] == rope]
    assert len(chosen) == (12 if family == "qwen2" else 24)
    for variant in chosen:
        check(reference(**variant))


@pytest.mark.parametrize("rope", ["dynamic", "longrope"])
@pytest.mark.parametrize("length", [ORIGINAL - 8, ORIGINAL, ORIGINAL + 1, 3 * ORIGINAL])
def test_length_dependent_ropes_equal_transformers_on_both_sides_of_the_original_length(rope: str, length: int) -> None:
    check(reference("llama", tied=False, kv_heads=2, head_dim=8, rope=rope, bias=False), length)


@pytest.mark.parametrize(
    "extra",
    [
        {"beta_fast": 16.0, "beta_slow": 2.0},
        {"truncate": False},
        {"attention_factor": 1.3},
        {"mscale": 0.8, "mscale_all_dim": 1.1},
    ],
    ids=lambda extra: "-".join(extra),
)
def test_options_of_yarn_equal_transformers(extra: dict[str, Any]) -> None:
    check(reference("qwen3", tied=True, kv_heads=2, head_dim=16, rope="yarn", bias=False, extra=extra))


def test_attention_factor_of_longrope_equals_transformers() -> None:
    extra = {"attention_factor": 1.4}
    check(reference("llama", tied=True, kv_heads=2, head_dim=8, rope="longrope", bias=False, extra=extra))


@pytest.mark.parametrize("rope", [rope for rope in ROPES if rope != "default"])
def test_parity_would_notice_a_wrong_rope(rope: str) -> None:
    model = reference("llama", tied=False, kv_heads=2, head_dim=8, rope=rope, bias=False)
    plain = ours(model, rope_parameters={"rope_type": "default", "rope_theta": 10000.0})
    with torch.no_grad():
        expected = model(row()[None]).logits[0]
    assert (logits(plain, row()) - expected).abs().max() > 1e-2


def test_fp64_evaluation_is_near_and_fp32_error_is_rounding() -> None:
    model = reference("qwen3", tied=False, kv_heads=2, head_dim=12, rope="yarn", bias=True)
    exact = Exact(ours(model), lambda network: {"logits": logits(network, row())}, tokens=LENGTH)
    assert logits(ours(model).double(), row()).dtype == torch.float64
    found = logits(ours(model), row())
    assert (found - exact.values["logits"]).abs().max() > 0
    exact.require(logits=found)


def test_bfloat16_keeps_positions_in_fp32() -> None:
    transformer = ours(reference("llama", tied=True, kv_heads=2, head_dim=8, rope="default", bias=False))
    before = transformer.rotary.inverse.clone()
    transformer.to(torch.bfloat16)
    assert torch.equal(transformer.rotary.inverse, before)
    assert logits(transformer, row()).dtype == torch.bfloat16
