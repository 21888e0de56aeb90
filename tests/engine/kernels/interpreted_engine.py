"""The torch engine with fused kernels computes what it computes with torch's own operations, in every family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import (
    FAMILIES,
    assert_same,
    batch_of,
    contexts_of,
    engine_of,
    learn,
    model_of,
    naive,
    problem_of,
    rows_of,
)
from nearness import near
from torch import Tensor

from assay.engine.interface import Want
from assay.engine.optimiser import AdamW
from assay.engine.sharded.network import Ask, Read
from assay.engine.torch import voices
from assay.engine.torch.engine import TorchEngine
from assay.engine.torch.kernels import checks, choose
from assay.engine.torch.kernels.checks import Sizes
from assay.engine.torch.kernels.choose import HERE, Surroundings, load, sizes_of
from assay.engine.torch.kernels.fused import FUSED
from assay.engine.torch.kernels.interface import FAMILIES as KERNELS
from assay.engine.torch.kernels.interface import Kernels
from assay.engine.torch.kernels.plain import PLAIN
from assay.policy.adapted import attach
from assay.policy.lora import Lora
from assay.rng import Key
from assay.types import Batch, Request

CPU = torch.device("cpu")


def fused(engine: Any) -> TorchEngine:
    assert isinstance(engine, TorchEngine)
    engine.network.kernels = FUSED
    return engine


def on_processor(family: str, kernels: Kernels, sizes: Sizes, device: torch.device, dtype: torch.dtype) -> str:
    return checks.fault(family, kernels, sizes, CPU, dtype)


def batch(lengths: list[int], **changes: Any) -> Batch:
    return batch_of(*rows_of(lengths), temperature=0.7, **changes)


ROWS = batch([3, 1, 2])


@pytest.mark.parametrize(("family", "checkpointing"), [*((family, "off") for family in FAMILIES), ("qwen3", "on")])
def test_gradients_are_those_of_the_network(family: str, checkpointing: Any) -> None:
    engine = fused(engine_of(family))
    engine.checkpointing = checkpointing
    got = learn(engine, ROWS)
    assert_same(got, naive(engine, ROWS))


def adapted(family: str, precision: Any) -> TorchEngine:
    model = model_of(family)
    attach(model, Lora(rank=3), key=Key(1))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.3, generator=torch.Generator().manual_seed(len(name)))
    return TorchEngine(model, end_ids=frozenset({0}), precision=precision, optimiser=AdamW())


def distance(grads: Mapping[str, Tensor], exact: Mapping[str, Tensor]) -> float:
    assert grads.keys() == exact.keys() and len(exact) > 0
    return sum(float((grads[name] - want).norm() ** 2) for name, want in exact.items()) ** 0.5


def test_gradients_of_an_adapter() -> None:
    """The error against fp64 is of the size that torch's own operations make in fp32."""
    exact, plain = (learn(adapted("qwen3", precision), ROWS) for precision in ("fp64", "fp32"))
    got = learn(fused(adapted("qwen3", "fp32")), ROWS)
    assert all("lora" in name for name in got)
    assert 0 < distance(got, exact) < 3 * distance(plain, exact)


@pytest.mark.parametrize("family", ["qwen3", "biased"])
def test_bf16_is_as_near_as_torch_in_bf16(family: str) -> None:
    """The error against fp32 is of the size that torch's own operations make in bf16."""
    exact, plain = (learn(engine_of(family, precision=precision), ROWS) for precision in ("fp32", "bf16"))
    got = learn(fused(engine_of(family, precision="bf16")), ROWS)
    assert 0 < distance(got, exact) < 2 * distance(plain, exact)


def test_every_output_of_a_pass() -> None:
    """Log-probabilities of further tokens, entropies and those that no loss is differentiated by, and scores."""
    top = np.random.default_rng(0).integers(0, 13, (6, 2))
    rows = batch([3, 1, 2], top_ids=top)
    engines = engine_of("qwen3"), fused(engine_of("qwen3"))
    for want in (Want(entropy=True, top_ids=True), Want(entropy=True, top_ids=True, mean_logp=True, likeliest=2)):
        grads: list[dict[str, Tensor]] = []
        seen: list[list[Tensor]] = []
        for engine in engines:
            (chunk,) = engine.chunks(rows, tokens=1000)
            out = engine.forward(chunk, want)
            assert out.top_logp is not None and out.entropy is not None
            (out.logp.sum() + (out.top_logp * torch.tensor([0.5, -2.0])).sum() + out.entropy.sum()).backward()
            engine.backward(chunk, out)
            engine.hand_out()
            grads.append({name: p.grad.clone() for name, p in engine.model.named_parameters() if p.grad is not None})
            engine.model.zero_grad()
            seen.append([x.detach() for x in (out.logp, out.top_logp, out.entropy)])
        for one, other in zip(*seen):
            torch.testing.assert_close(other, one, atol=1e-5, rtol=0)
        for name, value in grads[0].items():
            torch.testing.assert_close(grads[1][name], value, atol=1e-5 * max(1.0, float(value.abs().max())), rtol=0)


def test_ranks_read_by_them_under_autograd() -> None:
    """The output layer of a rank, whose gradients autograd asks for; only entropy and further tokens have gradients."""
    generator = torch.Generator().manual_seed(0)
    ids, top = torch.randint(13, (6,), generator=generator), torch.randint(13, (6, 2), generator=generator)
    ask = Ask(ids, torch.full((6,), 0.7), Want(entropy=True, top_ids=True), top)
    values = [torch.randn(*shape, generator=generator) for shape in ((6, 16), (13, 16))]
    grads: list[tuple[Tensor, ...]] = []
    for kernels, dtype in ((FUSED, torch.float32), (PLAIN, torch.float64)):
        hidden, weight = (value.to(dtype).requires_grad_(True) for value in values)
        told = replace(ask, tau=ask.tau.to(dtype))
        _, entropy, top_logp, *_ = Read.apply(hidden, weight, told, kernels)  # type: ignore[misc]
        grads.append(torch.autograd.grad((entropy * ids).sum() + (top_logp * top).sum(), (hidden, weight)))
    for got, exact in zip(*grads):
        near(got, exact, sums=64)


@pytest.mark.parametrize("family", ["grouped", "qwen3"])
def test_sampling_writes_what_torch_writes(family: str) -> None:
    """Rows of groups that share prompts, at temperatures and greedy; rows leave and others take their slots."""
    plain, engine = engine_of(family), fused(engine_of(family))
    engine.memory_bytes = plain.memory_bytes = 5 * voices.row_bytes(engine.network, 20)
    requests = [
        Request(problem_of(i), context, "g", 6, sample=j, temperature=(1.0, 0.7, 0.0)[j])
        for i, context in enumerate(contexts_of(4, high=12))
        for j in range(3)
    ]
    for got, want in zip(engine.generate(requests, Key(3)), plain.generate(requests, Key(3)), strict=True):
        np.testing.assert_array_equal(got.segment.ids, want.segment.ids)
        for name in ("old", "mu", "entropy"):
            np.testing.assert_allclose(getattr(got.segment, name), getattr(want.segment, name), atol=1e-5)


def test_the_checks_at_the_start_pass() -> None:
    """The kernels as a GPU is given them are tried on a small case, here in the interpreter."""
    about = Surroundings(load, lambda device: (9, 0), on_processor)
    for dtype in (torch.float32, torch.bfloat16):
        chosen = choose.choose("auto", torch.device("cuda"), dtype, sizes_of(model_of("qwen3").config), about)
        assert chosen.kernels == FUSED and chosen.fused
        assert chosen.reason == f"{HERE.load()[1]}: {', '.join(KERNELS)}"
