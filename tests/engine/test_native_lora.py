"""Low-rank adapters on the compiled core: autograd's gradients, the bits of merged weights, steps and copies."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import (
    FAMILIES,
    assert_same,
    batch_of,
    collected,
    learn,
    model_of,
    naive,
    requests_of,
    rows_of,
    tokens_of,
)
from missing_core import need, variants
from rounding import Exact
from torch import Tensor
from typed import present

from assay.engine.choose import engine_of
from assay.engine.interface import Span, Want
from assay.engine.local import LocalEngine
from assay.engine.native import build, weights
from assay.engine.native.engine import NativeEngine
from assay.engine.native.value_engine import NativeValueEngine
from assay.engine.precision import Precision
from assay.engine.torch.engine import TorchEngine
from assay.engine.torch.value_engine import ValueEngine
from assay.policy.adapted import attach, merged, own
from assay.policy.lora import Lora
from assay.policy.transformer import Transformer
from assay.rng import Key
from assay.types import Batch

LENGTHS = [5, 1, 9, 3, 7, 2]
LONG = [*LENGTHS, 83, 102, 61, 90]  # more tokens than go between the two products of an adapter at once
KEY = Key("adapters on the core")
ADAPTERS = {
    "every": Lora(rank=3, alpha=5.0),
    "some": Lora(rank=2, alpha=4.0, targets=("q_proj", "v_proj", "down_proj")),
    "other": Lora(rank=5, alpha=2.0, targets=("k_proj", "o_proj", "up_proj")),
}
every_adapter = pytest.mark.parametrize("lora", ADAPTERS.values(), ids=ADAPTERS)


@pytest.fixture
def threads() -> Iterator[None]:
    """A test may change the number of threads."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def adapted(family: str = "grouped", lora: Lora = ADAPTERS["every"], **changes: Any) -> Transformer:
    """A network whose adapters say something: both factors are away from zero."""
    model = attach(model_of(family, **changes), lora, key=KEY)
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in own(model).values():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model


def core(model: Transformer, precision: Precision = "fp32") -> NativeEngine:
    need("bf16" if precision == "bf16" else "fp32")
    return NativeEngine(model, end_ids=frozenset({0}), precision=precision)


def flat(grads: Mapping[str, Tensor]) -> Tensor:
    return torch.cat([grads[name].flatten().double() for name in sorted(grads)])


@pytest.mark.slow
@every_adapter
@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_those_of_autograd_and_the_base_has_none(family: str, lora: Lora) -> None:
    engine, batch = core(adapted(family, lora)), batch_of(*rows_of(LENGTHS), temperature=0.7)
    got = learn(engine, batch, tokens=20)
    assert set(got) == set(own(engine.model)) and all(float(grad.abs().max()) > 0 for grad in got.values())
    assert_same(got, naive(engine, batch))


@pytest.mark.slow
def test_gradients_over_many_tokens_are_sums_in_the_order_of_the_tokens(threads: None) -> None:
    """Chains of several hundred tokens, taken some at a time, for any number of threads."""
    batch, found = batch_of(*rows_of(LONG)), []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        engine = core(adapted())
        found.append(learn(engine, batch))
    assert all(torch.equal(found[0][name], other[name]) for other in found[1:] for name in found[0])
    assert_same(found[0], naive(engine, batch))


@pytest.mark.parametrize("precision", ["fp32", pytest.param("bf16", marks=pytest.mark.core("bf16"))])
@every_adapter
def test_sampler_and_learner_are_the_network_with_merged_weights_bit_for_bit(lora: Lora, precision: Precision) -> None:
    """So an exported model that was merged says exactly what the run's own policy said."""
    model = adapted(lora=lora)
    plain = model_of("grouped")
    plain.load_state_dict({**plain.state_dict(), **merged(model)})
    requests = requests_of(max_new=9, temperature=0.8)
    one, other = core(model, precision), core(plain, precision)
    for request, mine, same in zip(requests, one.generate(requests, Key(7)), other.generate(requests, Key(7))):
        ids, old = mine.segment.ids, present(mine.segment.old)
        assert ids.tobytes() == same.segment.ids.tobytes()
        assert old.tobytes() == present(same.segment.old).tobytes()
        (score,) = one.score([Span(request.context, ids, 0.8)])
        assert score.logp.tobytes() == old.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("variant", variants("bf16"))
def test_bf16_gradients_point_where_the_exact_ones_do(variant: build.Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.CHOICE, variant.name)
    model = adapted(hidden=64, head_dim=16, ffn=160, layers=3, init_std=0.125)
    for parameter in own(model).values():
        parameter.data.mul_(0.3)
    engine, batch = core(model, "bf16"), batch_of(*rows_of(LONG))
    assert {p.dtype for p in model.parameters()} == {torch.float32}  # the core rounds what it multiplies, nothing else
    got = learn(engine, batch)
    assert torch.cosine_similarity(flat(got), flat(naive(engine, batch).values), dim=0) > 0.999


def stepped(engine: NativeEngine, batch: Batch) -> None:
    for chunk in engine.chunks(batch, tokens=100):
        out = engine.forward(chunk, Want())
        (chunk.streams["advantage"] * out.logp).sum().backward()
        engine.backward(chunk, out)
    assert engine.step(lr=1e-2, clip=1.0)["skipped"] == 0


def test_only_the_adapter_moves_and_a_loaded_state_goes_on_bit_for_bit() -> None:
    engine, batch = core(adapted()), batch_of(*rows_of(LENGTHS))
    base = {name: p.clone() for name, p in engine.model.named_parameters() if name in engine.model.base_names}
    stepped(engine, batch)
    state = copy.deepcopy(engine.state())
    other = core(adapted())
    other.load(state)
    for each in (engine, other):
        stepped(each, batch)
    mine, same = engine.state(), other.state()
    assert mine.keys() == same.keys() and any(name.startswith("parameter/") for name in mine)
    assert all(torch.equal(torch.as_tensor(mine[name]), torch.as_tensor(same[name])) for name in mine)
    assert all(torch.equal(p, base[n]) for n, p in engine.model.named_parameters() if n in base)


@every_adapter
def test_after_a_step_the_core_has_the_merged_weights_whoever_copies_them(
    lora: Lora, threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "ALONE", 0)  # several threads prepare even small matrices
    batch, (contexts, answers) = batch_of(*rows_of(LENGTHS)), rows_of([8])
    span, found = [Span(contexts[0], answers[0])], set()
    for count in (1, 3):
        torch.set_num_threads(count)
        engine = core(adapted(lora=lora))
        stepped(engine, batch)
        assert torch.get_num_threads() == count
        plain = model_of("grouped")
        plain.load_state_dict({**plain.state_dict(), **merged(engine.model)})
        (mine,), (same,) = engine.score(span), core(plain).score(span)
        assert mine.logp.tobytes() == same.logp.tobytes()
        found.add(mine.logp.tobytes())
    assert len(found) == 1


def test_a_frozen_copy_shares_the_base_and_stays_behind() -> None:
    engine, batch = core(adapted()), batch_of(*rows_of(LENGTHS))
    behind = engine.copy()
    for name, parameter in behind.model.named_parameters():
        shared = parameter.data_ptr() == engine.model.get_parameter(name).data_ptr()
        assert shared == (name in engine.model.base_names), name
    contexts, answers = rows_of([6])
    span = [Span(contexts[0], answers[0])]
    (before,), (same,) = behind.score(span), engine.score(span)
    assert before.logp.tobytes() == same.logp.tobytes()
    stepped(engine, batch)
    (after,), (moved,) = behind.score(span), engine.score(span)
    assert before.logp.tobytes() == after.logp.tobytes() and np.abs(moved.logp - after.logp).max() > 1e-4


@pytest.mark.slow
@pytest.mark.core
def test_steps_teach_an_adapter_what_they_teach_one_on_torch() -> None:
    engines = [kind(adapted(), end_ids=frozenset({0}), precision="fp32") for kind in (NativeEngine, TorchEngine)]
    batch, scores = batch_of(*rows_of(LENGTHS)), []
    for engine in engines:
        losses = []
        for _ in range(20):
            (chunk,) = engine.chunks(batch, tokens=10_000)
            out = engine.forward(chunk, Want())
            loss = -out.logp.mean()
            losses.append(float(loss.detach()))
            loss.backward()
            engine.backward(chunk, out)
            engine.step(lr=1e-2, clip=1.0)
        scores.append(losses)
    ours, theirs = scores
    assert ours[-1] < 0.7 * ours[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-3)  # a step of AdamW of a gradient near nothing turns on its sign


@pytest.mark.core
def test_a_critic_has_an_adapter_and_a_head() -> None:
    batch = batch_of(*rows_of(LENGTHS))

    def learnt(critic: LocalEngine) -> dict[str, Tensor]:
        with torch.no_grad():
            critic.model.value_head.weight.copy_(torch.linspace(-1.0, 1.0, critic.model.config.hidden)[None])
        (chunk,) = critic.chunks(batch, tokens=1000)
        out = critic.forward(chunk, Want(value=True))
        (present(out.value) * chunk.streams["advantage"]).sum().backward()
        critic.backward(chunk, out)
        return collected(critic)

    def compute(model: Transformer) -> dict[str, Tensor]:
        return learnt(ValueEngine(model, end_ids=frozenset({0}), precision="fp64"))

    critic = NativeValueEngine(adapted(), end_ids=frozenset({0}), precision="fp32")
    assert_same(learnt(critic), Exact(adapted(), compute, tokens=tokens_of(batch)))


@pytest.mark.core
def test_the_core_is_chosen_for_a_network_with_an_adapter() -> None:
    assert engine_of(adapted(), "auto", "cpu", "fp32").engine is NativeEngine
