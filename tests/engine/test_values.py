"""Critics on the compiled core: the values and gradients of torch in fp64, whatever the chunks and threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from engine_cases import FAMILIES, batch_of, model_of, rows_of, tokens_of
from missing_core import variants
from rounding import Exact, units
from torch import Tensor

from assay.engine.choose import critic_of
from assay.engine.interface import Span, Want
from assay.engine.local import LocalEngine
from assay.engine.native import build
from assay.engine.native.engine import NativeEngine
from assay.engine.native.value_engine import NativeSpeakingEngine, NativeValueEngine
from assay.engine.precision import Precision
from assay.engine.torch.engine import TorchEngine
from assay.engine.torch.value_engine import SpeakingEngine, ValueEngine
from assay.errors import UsageError
from assay.policy.transformer import Transformer
from assay.rng import Key
from assay.types import Batch, Problem, Request

LENGTHS = [7, 1, 12, 5, 9, 3]
VALUE = Want(value=True)

pytestmark = pytest.mark.core


@pytest.fixture
def threads() -> Iterator[None]:
    """A test may change the number of threads."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def critic(kind: type[LocalEngine], family: str = "qwen2", *, precision: Precision = "fp32") -> LocalEngine:
    return headed(kind(model_of(family), end_ids=frozenset({0}), precision=precision))


def headed(made: LocalEngine) -> LocalEngine:
    """With a head away from its neutral start, so that its gradients reach the network."""
    head = made.model.value_head
    with torch.no_grad():
        head.weight.copy_(torch.linspace(-1.0, 1.0, head.weight.numel())[None])
        head.bias.fill_(0.25)
    return made


def learnt(engine: LocalEngine, batch: Batch, *, tokens: int = 10_000) -> tuple[np.ndarray, dict[str, Tensor]]:
    """The values, and the gradients of sum over tokens of (value - advantage)^2 / 2."""
    values: np.ndarray = np.zeros(len(batch.ids), np.float64)
    for chunk in engine.chunks(batch, tokens=tokens):
        out = engine.forward(chunk, VALUE)
        assert out.value is not None
        ((out.value - chunk.streams["advantage"]) ** 2).sum().div(2).backward()
        engine.backward(chunk, out)
        where = np.concatenate([np.arange(int(batch.at[row]), int(batch.at[row + 1])) for row in chunk.rows])
        values[where] = out.value.detach().double().numpy()
    engine.hand_out()
    found = {name: p.grad.double().clone() for name, p in engine.model.named_parameters() if p.grad is not None}
    engine.model.zero_grad(set_to_none=False)
    return values, found


def exact_values(family: str, batch: Batch) -> Exact:
    """Those of torch in fp64, and the gradients by name."""

    def compute(model: Transformer) -> dict[str, Tensor]:
        values, grads = learnt(headed(ValueEngine(model, end_ids=frozenset({0}), precision="fp64")), batch)
        return {"values": torch.from_numpy(values), **grads}

    return Exact(model_of(family), compute, tokens=tokens_of(batch))


@pytest.mark.parametrize("family", FAMILIES)
def test_values_and_gradients_are_those_of_torch_in_fp64(family: str) -> None:
    batch = batch_of(*rows_of(LENGTHS))
    values, grads = learnt(critic(NativeValueEngine, family), batch)
    exact = exact_values(family, batch)
    exact.require(values=values)
    assert {"value_head.weight", "value_head.bias"} <= grads.keys() and exact.values.keys() <= {*grads, "values"}
    exact.require_all({name: grad for name, grad in grads.items() if name in exact.values})
    assert not any(grad.any() for name, grad in grads.items() if name not in exact.values)


@pytest.mark.slow
def test_bits_do_not_depend_on_threads_and_chunks_change_roundings_alone(threads: None) -> None:
    batch, found = batch_of(*rows_of(LENGTHS * 3, groups=4)), []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        found.append(learnt(critic(NativeValueEngine, "grouped"), batch))
    (values, grads), *others = found
    for other_values, other_grads in others:
        assert np.array_equal(values, other_values)
        assert all(torch.equal(grad, other_grads[name]) for name, grad in grads.items())
    small, _ = learnt(critic(NativeValueEngine, "grouped"), batch, tokens=40)
    exact_values("grouped", batch).require(values=small)


def test_a_new_critic_says_0_and_learns() -> None:
    engine = NativeValueEngine(model_of(), end_ids=frozenset({0}), precision="fp32")
    batch, losses = batch_of(*rows_of(LENGTHS)), []
    for _ in range(40):
        (chunk,) = engine.chunks(batch, tokens=10_000)
        out = engine.forward(chunk, VALUE)
        assert out.value is not None
        loss = ((out.value - chunk.streams["advantage"]) ** 2).mean()
        losses.append(float(loss.detach()))
        loss.backward()
        engine.backward(chunk, out)
        engine.step(lr=0.01, clip=1.0)
    assert losses[0] == pytest.approx(float((batch.advantage**2).mean()))
    assert losses[-1] < 0.3 * losses[0]


def test_a_frozen_copy_gives_the_same_values_and_nothing_else_is_asked_of_a_critic() -> None:
    engine, batch = critic(NativeValueEngine), batch_of(*rows_of(LENGTHS))
    (chunk,) = engine.chunks(batch, tokens=10_000)
    copied = engine.copy()
    assert isinstance(copied, NativeValueEngine)
    one, other = (e.forward(chunk, VALUE).value for e in (engine, copied))
    assert one is not None and other is not None and torch.equal(one, other) and not other.requires_grad
    with pytest.raises(UsageError, match="gives values alone"):
        engine.forward(chunk, Want())
    with torch.no_grad():
        outputs = engine.forward(chunk, VALUE)
    with pytest.raises(UsageError, match="a forward with gradients"):
        engine.backward(chunk, outputs)


@pytest.mark.slow
@pytest.mark.parametrize("variant", variants())
def test_every_variant_that_runs_here(variant: build.Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CORE", variant.name)
    rounded = variant.format == "bf16"
    batch = batch_of(*rows_of(LENGTHS))
    values, grads = learnt(critic(NativeValueEngine, precision="bf16" if rounded else "fp32"), batch)
    wanted, exact = learnt(critic(ValueEngine, precision="fp64"), batch)
    assert np.corrcoef(values, wanted)[0, 1] > (0.99 if rounded else 0.999999)
    mine, theirs = (torch.cat([g[name].flatten() for name in sorted(exact)]) for g in (grads, exact))
    assert torch.cosine_similarity(mine, theirs, dim=0) > (0.97 if rounded else 0.999999)


def test_critics_run_where_their_policies_do() -> None:
    assert critic_of(NativeEngine) is NativeValueEngine and critic_of(TorchEngine) is ValueEngine
    assert critic_of(NativeEngine, speaks=True) is NativeSpeakingEngine
    assert critic_of(TorchEngine, speaks=True) is SpeakingEngine


@pytest.mark.parametrize(
    ("plain", "valued", "both"),
    [(NativeEngine, NativeValueEngine, NativeSpeakingEngine), (TorchEngine, ValueEngine, SpeakingEngine)],
)
def test_a_body_with_both_outputs_is_a_policy_and_a_critic(
    plain: type[LocalEngine], valued: type[LocalEngine], both: type[LocalEngine]
) -> None:
    """Bit for bit in values, log-probs and answers; the gradients of two passes add up."""
    batch, engine = batch_of(*rows_of(LENGTHS)), critic(both)
    policy = plain(model_of("qwen2"), end_ids=frozenset({0}), precision="fp32")
    values, wanted = learnt(critic(valued), batch)
    of_words = said(policy, batch)
    policy.hand_out()
    mine = said(engine, batch)
    found_values, found = learnt(engine, batch)
    assert np.array_equal(values, found_values) and torch.equal(of_words, mine)
    words = {name: p.grad.double() for name, p in policy.model.named_parameters() if p.grad is not None}
    scale = max(float(grad.abs().max()) for grad in found.values())
    for name, grad in found.items():
        zero = torch.zeros_like(grad)
        parts = wanted.get(name, zero) + words.get(name, zero)
        assert (grad - parts).abs().max() <= units(4, scale) * len(batch.ids) ** 0.5, name
    spans = [Span(np.array([1, 2], np.int32), np.array([3, 1, 0], np.int32))]
    assert np.array_equal(engine.score(spans)[0].logp, policy.score(spans)[0].logp)
    request = Request(Problem("countdown", "?", {}, "?"), np.array([1, 2], np.int32), "0:0", 8)
    one, other = (made.generate([request], Key(3))[0].segment.ids for made in (engine, policy))
    assert np.array_equal(one, other)


def said(engine: LocalEngine, batch: Batch) -> Tensor:
    """The log-probs, after a backward pass of their sum."""
    (chunk,) = engine.chunks(batch, tokens=10_000)
    out = engine.forward(chunk, Want())
    out.logp.sum().backward()
    engine.backward(chunk, out)
    return out.logp.detach().clone()
