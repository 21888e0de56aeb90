"""Attention by sequences: the plan that the GPU's kernel is given, with a plain kernel in its place. The same sight,
the same values and the same gradients as the attention in blocks, for groups that share a prompt."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from engine_cases import FAMILIES, assert_same, batch_of, engine_of, learn, naive, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding import units
from torch import Tensor
from typed import as_torch

from assay.engine.layout import LEAST_STEM, Layout, lay
from assay.engine.torch import network, varlen
from assay.engine.torch.attention import attend, attend_backward
from assay.engine.torch.packing import pack
from assay.engine.torch.varlen import Seen, Sequences

HEADS, KV, D = 4, 2, 8
CPU = torch.device("cpu")


def one_sequence(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Softmax attention [n, heads, d] that is causal from the end: the last query sees the last key."""
    n, m, share = len(q), len(k), q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(share, 1) for x in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q, k) / q.shape[-1] ** 0.5
    hidden = torch.arange(m)[None] > torch.arange(n)[:, None] + m - n
    return torch.einsum("hqk,khd->qhd", torch.softmax(scores.masked_fill(hidden, -torch.inf), -1), v)


def plain(q: Tensor, k: Tensor, v: Tensor, plan: Sequences) -> Tensor:
    q_at, k_at = plan.q_at.tolist(), plan.k_at.tolist()
    assert max(np.diff(q_at)) == plan.longest_q and max(np.diff(k_at)) == plan.longest_k
    assert min(np.diff(q_at)) > 0 and q_at[-1] == len(q) and k_at[-1] == len(k)
    parts = zip(zip(q_at, q_at[1:]), zip(k_at, k_at[1:]))
    return torch.cat([one_sequence(q[a:b], k[c:d], v[c:d]) for (a, b), (c, d) in parts])


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of plain products and torch's own gradients, taken as if this were a GPU."""

    def forward(q: Tensor, k: Tensor, v: Tensor, plan: Sequences):
        none = torch.zeros(0)
        return plain(q, k, v, plan), none, (none, none)

    def backward(grad: Tensor, held: Seen, plan: Sequences):
        with torch.enable_grad():
            q, k, v = leaves = [x.detach().clone().requires_grad_(True) for x in (held.q, held.k, held.v)]
            return torch.autograd.grad(plain(q, k, v, plan), leaves, grad)

    monkeypatch.setattr(varlen, "forward_kernel", forward)
    monkeypatch.setattr(varlen, "backward_kernel", backward)
    monkeypatch.setattr(network, "fits", lambda device, dtype, head_dim: True)


def layout_of(lengths: list[int], groups: int = 3, *, common: int = 0) -> Layout:
    contexts, answers = rows_of(lengths, groups=groups)
    stem = np.arange(common, dtype=np.int32)
    return lay([np.concatenate([stem, context]) for context in contexts], answers, shares=True)


def visible(layout: Layout) -> np.ndarray:
    """bool[N, N] from what a layout means, token by token: a query, and what it may see."""
    count = len(layout.ids)
    owner, context, stem = np.zeros(count, int), np.zeros(count, int), np.zeros(count, int)
    stem_of = np.full(len(layout.context_at) - 1, -1) if layout.stem_of is None else layout.stem_of
    stem_of = np.where(stem_of < 0, count, -1 - stem_of)  # nobody's number where there is none
    for c, (a, b) in enumerate(zip(layout.context_at[:-1], layout.context_at[1:])):
        owner[a:b], context[a:b], stem[a:b] = -1 - c, -1 - c, stem_of[c]
    for row, (start, length) in enumerate(zip(layout.start, layout.length)):
        mine, c = slice(start, start + length), layout.context_of[row]
        owner[mine], context[mine], stem[mine] = row, -1 - c, stem_of[c]
    position = layout.positions
    before = position[None] <= position[:, None]
    return before & np.logical_or.reduce([owner[None] == mine[:, None] for mine in (owner, context, stem)])


def inputs(layout: Layout, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    qkv = torch.randn(len(layout.ids), HEADS + 2 * KV, D, generator=generator)
    return qkv[:, : HEADS + KV].contiguous(), qkv


@pytest.mark.usefixtures("kernel")
@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=7), st.integers(1, 3), st.sampled_from([0, LEAST_STEM]))
def test_a_query_sees_its_stem_its_context_and_its_row_in_both_plans(
    lengths: list[int], groups: int, common: int
) -> None:
    """With scores of zero and unit values, what comes out is the share of each token that is seen."""
    layout = layout_of(lengths, groups, common=common)
    assert (layout.stem_of is not None) == (common > 0 and min(groups, len(lengths)) > 1)
    count = len(layout.ids)
    want = visible(layout)
    qk = torch.zeros(count, 2, count)
    qkv = torch.cat([qk, torch.eye(count)[:, None]], 1)
    for flash in (True, False):
        plan = pack(layout, heads=1, kv_heads=1, device=CPU, flash=flash).plan
        o, _ = attend(qk, qkv, plan, keep=False)
        np.testing.assert_array_equal(o.numpy() > 0, want)
        np.testing.assert_allclose(o.numpy(), want / want.sum(1, keepdims=True), atol=units(count**0.5))


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("common", [0, LEAST_STEM])
def test_values_and_gradients_are_those_of_the_blocks(common: int) -> None:
    layout = layout_of([5, 1, 9, 3, 7, 2, 12, 1, 4], common=common)
    qk, qkv = (x.double() for x in inputs(layout))
    grad = torch.randn(len(qk), HEADS * D, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = []
    for flash in (True, False):
        plan = pack(layout, heads=HEADS, kv_heads=KV, device=CPU, flash=flash).plan
        o, held = attend(qk, qkv, plan, keep=True)
        assert held is not None and isinstance(held, Seen) == flash
        found.append((o, *attend_backward(grad.clone(), held, plan)))
    for by_sequences, by_blocks in zip(*found, strict=True):
        torch.testing.assert_close(by_sequences, by_blocks, atol=1e-12, rtol=0)


@pytest.mark.slow
@pytest.mark.usefixtures("kernel")
def test_torch_s_own_attention_with_that_mask_gives_the_same() -> None:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    layout = layout_of([5, 1, 9, 3, 7, 2, 12, 1, 4])
    qk, qkv = inputs(layout)
    sight = torch.from_numpy(visible(layout))
    count = len(sight)
    q, k, v = (x.transpose(0, 1)[None].contiguous() for x in qkv.split([HEADS, KV, KV], 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is slow without its compiler
        mask = create_block_mask(lambda b, h, i, j: sight[i, j], None, None, count, count, device="cpu")
        want = flex_attention(q, k, v, block_mask=mask, enable_gqa=True)
    assert isinstance(want, Tensor)
    for flash in (True, False):
        plan = pack(layout, heads=HEADS, kv_heads=KV, device=CPU, flash=flash).plan
        o, _ = attend(qk, qkv, plan, keep=False)
        torch.testing.assert_close(o.view(count, HEADS, D), want[0].transpose(0, 1), atol=1e-6, rtol=0)


@pytest.mark.slow
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("family", FAMILIES)
def test_the_gradient_of_a_batch_is_that_of_rows_run_alone(family: str) -> None:
    engine = engine_of(family, precision="fp64")
    assert as_torch(engine).network.flash
    batch = batch_of(*rows_of([5, 1, 9, 3, 7, 2, 12, 1, 4]), temperature=0.7)
    assert_same(learn(engine, batch), naive(engine, batch))


def test_the_kernel_is_for_gpus_in_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cuda, "is_flash_attention_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    gpu = torch.device("cuda")
    assert varlen.fits(gpu, torch.bfloat16, 64)
    assert not varlen.fits(CPU, torch.bfloat16, 64)
    assert not varlen.fits(gpu, torch.float32, 64)
    assert not varlen.fits(gpu, torch.bfloat16, 36) and not varlen.fits(gpu, torch.bfloat16, 512)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert not varlen.fits(gpu, torch.bfloat16, 64)


def test_torch_s_operators_take_what_the_kernels_give_them() -> None:
    """Their names, the order of their arguments and what they return, by their own declarations."""
    forward = torch.ops.aten._flash_attention_forward.default._schema
    backward = torch.ops.aten._flash_attention_backward.default._schema
    lengths = ["cum_seq_q", "cum_seq_k", "max_q", "max_k", "dropout_p", "is_causal"]
    named = [a.name for a in forward.arguments if not a.kwarg_only]
    assert named == ["query", "key", "value", *lengths, "return_debug_mask"]
    assert [r.name for r in forward.returns][1:4] == ["softmax_logsumexp", "rng_state", "unused"]
    named = [a.name for a in backward.arguments if not a.kwarg_only]
    held = ["grad_out", "query", "key", "value", "out", "logsumexp"]
    assert named == [*held, *lengths, "rng_state", "unused"]
    assert all("scale" in [a.name for a in s.arguments if a.kwarg_only] for s in (forward, backward))


def test_torch_s_operators_run_on_shapes_alone() -> None:
    """On the device that computes nothing they check what they are given, and say what they would return."""
    plan = Sequences.of(layout_of([5, 1, 9]), heads=HEADS, device=torch.device("meta"))
    tokens, keys = len(layout_of([5, 1, 9]).ids), len(plan.keys)
    qk = torch.empty(tokens, HEADS + KV, D, dtype=torch.bfloat16, device="meta")
    qkv = torch.empty(tokens, HEADS + 2 * KV, D, dtype=torch.bfloat16, device="meta")
    o, held = varlen.attend(qk, qkv, plan, keep=True)
    assert held is not None and o.shape == (tokens, HEADS * D) and held.k.shape == (keys, KV, D)
    dqk, dv = varlen.attend_backward(torch.empty_like(o), held, plan)
    assert dqk.shape == qk.shape and dv.shape == (tokens, KV, D) and dqk.dtype == dv.dtype == torch.bfloat16
