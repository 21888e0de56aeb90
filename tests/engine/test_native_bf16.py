"""The core's variants that multiply pairs of bf16: rounding, exact products, bitwise promises, gradients, refusals.

A processor without the instruction runs its emulation. Where the instruction itself is there, it runs too.
"""

from __future__ import annotations

import copy
import ctypes
import dataclasses
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import FAMILIES, batch_of, model_of, naive_log_probs, requests_of, rows_of
from missing_core import variants
from test_engine_learner import LENGTHS, learn, naive
from test_native import bits, mixed
from torch import Tensor, nn
from torch.nn import functional as F
from typed import present

from assay.engine import footprint, precision
from assay.engine.choose import engine_for
from assay.engine.interface import Span, Want
from assay.engine.native import build
from assay.engine.native import engine as native
from assay.engine.native.engine import NativeEngine
from assay.engine.optimiser import AdamW
from assay.engine.torch.engine import TorchEngine
from assay.errors import AssayError, ConfigError
from assay.rng import Key

pytestmark = pytest.mark.slow  # builds what this processor may not have of its own
KEY = Key(3)
MIDDLE = {"hidden": 64, "head_dim": 16, "ffn": 160, "layers": 3, "init_std": 0.125}
every_family = pytest.mark.parametrize("family", FAMILIES)

PRODUCTS = """
#include "product.h"
using namespace assay;

extern "C" {
void round_all(int n, const float* x, uint16_t* y) { for (int i = 0; i < n; i++) y[i] = rounded(x[i]); }

// Rows of `depth` numbers, rounded to operands.
static const Number* numbers(int rows, int depth, const float* x, Buffer& room) {
    Number* to = room.room<Number>(size_t(rows) * padded(depth));
    for (int i = 0; i < rows; i++) put_numbers(x + size_t(i) * depth, depth, to + size_t(i) * padded(depth));
    return to;
}

// c = bias + a w' if by_rows, else c = a w
void multiply(int rows, int depth, int width, const float* a, const float* w, int by_rows, const float* bias,
              float* c) {
    Panels panels;
    Buffer left;
    panels.reserve(depth, width);
    if (by_rows) panels.pack_rows(w, depth, 0, Panels::count(width));
    else panels.pack_columns(w, width, 0, Panels::count(width));
    product(rows, numbers(rows, depth, a, left), panels, c, width, Start::bias, bias);
}

void outer(int rows, int width, int tokens, const float* a, const float* b, float* c) {
    Buffer left, right, scratch;
    const Number *x = numbers(tokens, rows, a, left), *y = numbers(tokens, width, b, right);
    add_outer(rows, width, tokens, x, padded(rows), y, padded(width), c, width, scratch);
}
}
"""


@pytest.fixture(params=variants("bf16", fast=1))
def variant(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> build.Variant:
    monkeypatch.setenv(build.CHOICE, request.param.name)
    return request.param


def core(family: str = "qwen2", **changes: Any) -> NativeEngine:
    model = model_of(family, **changes)
    return NativeEngine(model, end_ids=frozenset({0}), precision="bf16", optimiser=AdamW())


def flat(grads: Mapping[str, Tensor]) -> Tensor:
    return torch.cat([grads[name].flatten().double() for name in sorted(grads)])


# Numbers


class Products:
    """The matrix products of a variant by themselves."""

    def __init__(self, variant: build.Variant, folder: Path) -> None:
        self.exact = variant.emulated
        source, made = folder / "products.cpp", folder / f"{variant.name}.so"
        if not made.exists():
            source.write_text(PRODUCTS)
            flags = [*build.COMMON, *variant.flags, *os.environ.get(build.FLAGS, "").split(), f"-I{build.SOURCE}"]
            subprocess.run([build.compiler(), *flags, str(source), "-o", str(made)], check=True)
        self.library = ctypes.CDLL(str(made))

    def _call(self, name: str, *arguments: int | np.ndarray | None) -> None:
        getattr(self.library, name)(*(a.ctypes if isinstance(a, np.ndarray) else a for a in arguments))

    def rounded(self, x: np.ndarray) -> np.ndarray:
        y = np.empty(len(x), np.uint16)
        self._call("round_all", len(x), x, y)
        return y

    def multiply(self, a: np.ndarray, w: np.ndarray, *, by_rows: bool, bias: np.ndarray | None) -> np.ndarray:
        c = np.empty((len(a), len(w) if by_rows else w.shape[1]), np.float32)
        self._call("multiply", len(a), a.shape[1], c.shape[1], a, w, int(by_rows), bias, c)
        return c

    def outer(self, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        c = c.copy()
        self._call("outer", a.shape[1], b.shape[1], len(a), a, b, c)
        return c

    def check(self, got: np.ndarray, a: np.ndarray, b: np.ndarray, start: np.ndarray) -> None:
        """`got` is start + a b: to the bit where the order of the sums is ours, else within their rounding."""
        want = chains(a, b, start)
        if self.exact:
            assert got.tobytes() == want.tobytes()
        np.testing.assert_allclose(got, want, atol=1e-6 * a.shape[1], rtol=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("products")


@pytest.fixture
def products(variant: build.Variant, folder: Path) -> Products:
    return Products(variant, folder)


def to_bf16(x: np.ndarray) -> np.ndarray:
    return torch.from_numpy(x).bfloat16().double().numpy()


def chains(a: np.ndarray, b: np.ndarray, start: np.ndarray) -> np.ndarray:
    """start + a b over bf16 operands, pair by pair, the later of a pair first. A product of two bf16 and its sum with a
    float are exact in fp64, so that rounding that sum is one fused multiply-add."""
    a, b = to_bf16(a), to_bf16(b)
    if a.shape[1] % 2:
        a, b = np.pad(a, ((0, 0), (0, 1))), np.pad(b, ((0, 1), (0, 0)))
    total = np.broadcast_to(start, (len(a), b.shape[1])).astype(np.float32)
    for k in range(0, a.shape[1], 2):
        for i in (k + 1, k):
            total = (total + np.outer(a[:, i], b[i])).astype(np.float32)
    return total


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_number_is_rounded_to_the_nearest_bf16_and_nan_stays_nan(products: Products) -> None:
    upper = np.arange(0, 1 << 16, dtype=np.uint32) << 16
    lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)  # below, at and above the middle
    x = (upper[:, None] | lower).ravel().view(np.float32)  # zeros, denormals, infinities, every kind of nan among them
    got, want = products.rounded(x), torch.from_numpy(x).bfloat16().view(torch.int16).numpy().view(np.uint16)
    nan = np.isnan(x)
    np.testing.assert_array_equal(got[~nan], want[~nan])
    assert ((got[nan] & 0x7FFF) > 0x7F80).all()


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "depth", "width"), [(1, 1, 1), (1, 2, 40), (5, 7, 33), (29, 64, 32), (43, 31, 65), (200, 9, 5)]
)
def test_products_are_chains_over_pairs_of_bf16(products: Products, rows: int, depth: int, width: int) -> None:
    random = np.random.default_rng(rows)
    a, w, bias = (random.normal(size=shape).astype(np.float32) for shape in ((rows, depth), (width, depth), (width,)))
    got = products.multiply(a, w, by_rows=True, bias=bias)
    products.check(got, a, w.T, bias)
    turned = np.ascontiguousarray(w.T)
    products.check(products.multiply(a, turned, by_rows=False, bias=None), a, turned, np.zeros(1))
    for i in range(0, rows, 3):  # whatever rows are beside it
        assert products.multiply(a[i : i + 1], w, by_rows=True, bias=bias).tobytes() == got[i].tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "width", "tokens"), [(1, 1, 1), (14, 32, 255), (30, 41, 513), (6, 100, 256)])
def test_a_weight_s_gradient_is_a_chain_over_pairs_of_tokens(
    products: Products, rows: int, width: int, tokens: int
) -> None:
    random = np.random.default_rng(tokens)
    a, b, c = (
        random.normal(size=shape).astype(np.float32) for shape in ((tokens, rows), (tokens, width), (rows, width))
    )
    products.check(products.outer(a, b, c), np.ascontiguousarray(a.T), b, c)


def test_what_is_not_finite_goes_through_a_product(products: Products) -> None:
    a, w = np.ones((3, 5), np.float32), np.ones((4, 5), np.float32)
    a[0, 4], a[1, 1], w[2, 3] = np.inf, np.nan, 3.4e38  # the last is beyond the largest bf16
    got = products.multiply(a, w, by_rows=True, bias=None)
    assert np.isinf(got[0]).all() and np.isnan(got[1]).all() and np.isinf(got[2, 2])
    np.testing.assert_array_equal(got[2, [0, 1, 3]], [5, 5, 5])


@every_family
def test_log_probs_are_those_of_products_on_rounded_operands(variant: build.Variant, family: str) -> None:
    """Against torch in fp64, where each linear layer rounds its input and weight, and attention its queries, keys,
    values and exponentials, which are then divided by the sum of what they were. Norms are 1, so that to fold them into
    weights changes nothing. An input that lies, but for its rounding as a float, in the middle of two bf16 may go the
    other way, and its row's later numbers with it: so most log-probs must agree, not all."""
    engine = core(family)
    with torch.no_grad():
        for name, parameter in engine.model.named_parameters():
            if "norm" in name and not name.endswith(("q_norm.weight", "k_norm.weight")):
                parameter.fill_(1.0)
    engine._refresh()
    exact = copy.deepcopy(engine.model).double()
    contexts, answers = rows_of([10] * 12, groups=12)
    scores = engine.score([Span(c, a) for c, a in zip(contexts, answers)])

    def errors(attend: Callable[..., Tensor] | None = None) -> np.ndarray:
        rows = []
        for context, answer, score in zip(contexts, answers, scores):
            if attend is None:
                logp = naive_log_probs(exact, context, answer)
            else:
                ids = torch.from_numpy(np.concatenate([context, answer]).astype(np.int64))
                logits = exact.logits(exact(ids, torch.arange(len(ids)), attend))[len(context) - 1 : -1]
                logp = torch.log_softmax(logits, -1)
            rows.append(np.abs(logp.detach().numpy()[np.arange(len(answer)), answer] - score.logp))
        return np.concatenate(rows)

    def on_rounded_heads(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        share = q.shape[1] // k.shape[1]
        q, k, v = (x.bfloat16().double() for x in (q, k, v))
        scores = torch.einsum("qhd,khd->hqk", q, k.repeat_interleave(share, 1)) / q.shape[2] ** 0.5
        future = torch.triu(torch.ones(scores.shape[1:], dtype=torch.bool), 1)
        scores = scores.masked_fill(future, -torch.inf)
        e = (scores - scores.amax(-1, keepdim=True)).exp()
        out = torch.einsum("hqk,khd->qhd", e.bfloat16().double(), v.repeat_interleave(share, 1))
        return out / e.sum(-1).T[..., None]

    def on_rounded(layer: nn.Module, inputs: tuple[Tensor], _: Tensor) -> Tensor:
        assert isinstance(layer, nn.Linear)
        return F.linear(inputs[0].bfloat16().double(), layer.weight.bfloat16().double(), layer.bias)

    unrounded = errors()
    assert np.median(unrounded) > 1e-3 and unrounded.max() < 0.1
    layers = [m for m in exact.modules() if isinstance(m, nn.Linear)]
    assert len(layers) == 7 * engine.model.config.layers + 1
    for layer in layers:
        layer.register_forward_hook(on_rounded)
    found = errors(on_rounded_heads)
    assert np.quantile(found, 0.8) < 2e-6 and found.max() < unrounded.max()


@every_family
def test_the_gradient_points_where_the_exact_one_does(variant: build.Variant, family: str) -> None:
    engine = core(family, **MIDDLE)
    assert engine.place == f"cpu native {variant.name}"
    batch = batch_of(*rows_of([40, 33, 21, 50, 60, 12], groups=3), temperature=0.8)
    got, want = learn(engine, batch, tokens=100), naive(engine, batch).values
    assert got.keys() == want.keys() and all(g.dtype == torch.float32 for g in got.values())
    for name, value in want.items():
        assert F.cosine_similarity(got[name].double().flatten(), value.flatten(), dim=0) > 0.999, name
    ours, exact = flat(got), flat(want)
    assert F.cosine_similarity(ours, exact, dim=0) >= 0.9995
    assert abs(ours.norm() / exact.norm() - 1) < 0.01


# Bitwise promises


@every_family
def test_sampler_learner_and_scores_agree_bit_for_bit(variant: build.Variant, family: str) -> None:
    engine, requests = core(family), mixed()
    got = engine.generate(requests, KEY)
    temperature = np.array([r.temperature or 1.0 for r in requests], np.float32)
    batch = batch_of([r.context for r in requests], [g.segment.ids for g in got])
    batch = dataclasses.replace(batch, temperature=temperature)
    for tokens in (10_000, 70):
        for chunk in engine.chunks(batch, tokens=tokens):
            out = engine.forward(chunk, Want(entropy=True))
            for name, value in (("old", out.logp), ("entropy", out.entropy)):
                want = np.concatenate([getattr(got[r].segment, name) for r in chunk.rows])
                assert value is not None and value.detach().numpy().tobytes() == want.tobytes()
    spans = [Span(r.context, g.segment.ids, float(t)) for r, g, t in zip(requests, got, temperature)]
    for g, score in zip(got, engine.score(spans)):
        assert score.logp.tobytes() == present(g.segment.old).tobytes()


@every_family
def test_nothing_but_the_row_decides_its_bits(
    variant: build.Variant, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = mixed()
    want = bits(core(family).generate(requests, KEY))
    order = np.random.default_rng(0).permutation(len(requests))
    for count, slots, prefill in ((1, 1, 512), (2, 3, 1), (3, 56, 9)):
        monkeypatch.setattr(torch, "get_num_threads", lambda count=count: count)
        monkeypatch.setattr(footprint, "NATIVE_SLOTS", slots)
        monkeypatch.setattr(native, "PREFILL_TOKENS", prefill)
        engine = core(family)
        assert engine.threads == count
        assert bits(engine.generate([requests[i] for i in order], KEY)) == [want[i] for i in order]
    assert bits(engine.generate(requests[7:8], KEY)) == want[7:8]


@pytest.mark.slow
@pytest.mark.parametrize("shape", [{}, {"vocab": 60_000, "layers": 1}], ids=["small", "output-layer-in-parts"])
def test_gradients_are_the_same_bits_whatever_the_threads(
    variant: build.Variant, shape: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = batch_of(*rows_of([*LENGTHS, 40, 33, 101], groups=3), temperature=0.8)
    found = []
    for count in (2, 2, 1, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda count=count: count)
        found.append(flat(learn(core("grouped", **shape), batch, tokens=150)))
    assert all(torch.equal(found[0], other) for other in found[1:])


# Steps


def test_masters_stay_wide_and_move_by_less_than_a_bf16_can_say(variant: build.Variant) -> None:
    engine = core()
    assert engine.compute == torch.bfloat16 and engine.reads_fp32
    batch = batch_of(*rows_of(LENGTHS))
    weight = engine.model.lm_head.weight
    before = weight.detach().clone()
    for _ in range(3):
        for name, grad in learn(engine, batch).items():
            engine.model.get_parameter(name).grad = grad
        engine.step(lr=1e-6, clip=None)
    moved = (weight - before).abs()
    assert weight.dtype == torch.float32 and 0 < moved.max() < 1e-5
    twin = engine.copy()
    assert twin.compute == torch.bfloat16
    spans = [Span(c, a) for c, a in zip(*rows_of([9, 4]))]
    for ours, theirs in zip(engine.score(spans), twin.score(spans)):
        assert ours.logp.tobytes() == theirs.logp.tobytes()


@pytest.mark.parametrize("bits_of_nan", [0x7FC00000, 0x7F800001, -1])
def test_a_weight_that_is_not_a_number_is_found(variant: build.Variant, bits_of_nan: int) -> None:
    engine, requests = core(), requests_of(2, 2)
    with torch.no_grad():
        engine.model.model.layers[1].mlp.down_proj.weight.view(torch.int32)[3, 5] = bits_of_nan  # type: ignore[index]
    engine._refresh()
    with pytest.raises(AssayError, match="not finite for request"):
        engine.generate(requests, KEY)
    for chunk in engine.chunks(batch_of(*rows_of(LENGTHS)), tokens=1000):
        assert not torch.isfinite(engine.forward(chunk, Want()).logp).any()


# Which variant runs


def test_the_format_decides_among_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(build.CHOICE, raising=False)
    both = frozenset(flag for v in build.VARIANTS for flag in v.needs)
    monkeypatch.setattr(build, "_machine", lambda: "x86_64")
    monkeypatch.setattr(build, "_features", lambda: both)
    assert build.chosen("bf16").name == "avx512-bf16" and build.chosen("fp32").name == "avx512"
    monkeypatch.setenv(build.CHOICE, "avx512")
    with pytest.raises(build.Unavailable, match="ASSAY_CORE=avx512 computes in fp32, not in bf16"):
        build.chosen("bf16")


def test_bf16_without_its_products_is_refused_and_torch_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(build.CHOICE, raising=False)
    plain = build._features() - {"avx512_bf16"}
    monkeypatch.setattr(build, "_features", lambda: plain)
    rough = engine_for("auto", "cpu", "bf16")
    assert rough.engine is TorchEngine and "this processor has no bf16 products" in rough.reason
    with pytest.raises(
        ConfigError, match=r"machine\.engine is native, but the core computes in fp32 here, not in bf16"
    ):
        engine_for("native", "cpu", "bf16")
    with pytest.raises(ConfigError, match="no bf16 products"):
        core()


def test_a_variant_that_is_named_takes_its_format_alone(
    variant: build.Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert engine_for("auto", "cpu", "bf16").engine is NativeEngine
    assert f"{variant.name} computes in bf16, not in fp32" in engine_for("auto", "cpu", "fp32").reason
    monkeypatch.setattr(precision, "native_bf16", lambda _: (True, "products here"))
    assert engine_for("auto", "cpu", "auto").engine is NativeEngine
