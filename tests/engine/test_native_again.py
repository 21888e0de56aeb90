"""Layers that the core computes again in the backward pass: the same bits as with everything kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import FAMILIES, assert_same, batch_of, learn, model_of, naive, requests_of, rows_of
from test_native import threads  # noqa: F401
from test_native_lora import ADAPTERS, adapted, core
from test_values import critic, learnt
from torch import Tensor
from typed import present

from assay.engine.interface import Chunk, Span, Want
from assay.engine.local import Checkpointing, LaidChunk
from assay.engine.native import engine as native
from assay.engine.native import library
from assay.engine.native.engine import NativeEngine
from assay.engine.native.value_engine import NativeValueEngine
from assay.policy.transformer import Transformer
from assay.rng import Key
from assay.types import Batch

MODELS: dict[str, Callable[..., Transformer]] = {
    "all weights": model_of,
    **{f"adapters on {name}": lambda family, lora=lora, **changes: adapted(family, lora, **changes)
       for name, lora in ADAPTERS.items()},
}  # fmt: skip
every_family = pytest.mark.parametrize("family", FAMILIES)
every_model = pytest.mark.parametrize("made", MODELS.values(), ids=MODELS)
every_format = pytest.mark.parametrize("precision", ["fp32", pytest.param("bf16", marks=pytest.mark.core("bf16"))])


def engine(model: Transformer, checkpointing: Checkpointing, precision: Any = "fp32") -> NativeEngine:
    found = core(model, precision)
    found.checkpointing = checkpointing
    return found


def batch() -> Batch:
    """One group that is longer than all others, several of one token, and more tokens than go into one block."""
    return batch_of(*rows_of([5, 1, 9, 3, 7, 2, 83, 102, 1, 61, 90, 40], groups=4), temperature=0.8)


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.turns(3)
@every_format
@every_model
@every_family
def test_gradients_have_the_same_bits(family: str, made: Callable[..., Transformer], precision: str) -> None:
    kept, again = (engine(made(family, layers=3), choice, precision) for choice in ("off", "on"))
    want, got = learn(kept, batch(), tokens=150), learn(again, batch(), tokens=150)
    assert same(got, want) and all(bool(grad.any()) for grad in got.values())


@pytest.mark.turns(3)
@pytest.mark.slow
@every_family
def test_gradients_are_those_of_the_plain_network(family: str) -> None:
    for model in (model_of(family, layers=3), adapted(family, layers=3)):
        again = engine(model, "on")
        assert_same(learn(again, batch()), naive(again, batch()))


@pytest.mark.slow
@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("groups", [1, 6], ids=["one group for all threads", "groups for each thread"])
def test_gradients_have_the_same_bits_whatever_the_threads(groups: int) -> None:
    asked, found = batch_of(*rows_of([50, 33, 61, 47, 90, 20, 55, 38], groups=groups), temperature=0.8), []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        found += [learn(engine(adapted("qwen3", layers=3), choice), asked) for choice in ("off", "on")]
        found += [learn(engine(model_of("qwen3", layers=3), choice), asked) for choice in ("off", "on")]
    assert all(same(found[0], other) for other in found[0::4] + found[1::4])
    assert all(same(found[2], other) for other in found[2::4] + found[3::4])


@pytest.mark.turns(3)
@every_format
@every_model
@every_family
def test_the_sampler_s_log_probs_are_the_learner_s(
    family: str, made: Callable[..., Transformer], precision: str
) -> None:
    requests = requests_of(4, 5, max_new=30, temperature=0.8)
    for choice in ("on", "off", "on"):
        policy = engine(made(family), choice, precision)
        got = policy.generate(requests, Key(3))
        asked = batch_of([r.context for r in requests], [g.segment.ids for g in got], temperature=0.8)
        learn(policy, asked)  # a pass whose buffers went through a backward pass before is as good as a fresh one
        for chunk in policy.chunks(asked, tokens=60):
            out = policy.forward(chunk, Want(entropy=True))
            for name, value in (("old", out.logp), ("entropy", present(out.entropy))):
                want = np.concatenate([getattr(got[r].segment, name) for r in chunk.rows])
                assert value.detach().numpy().tobytes() == want.tobytes()
        for request, one in zip(requests, got, strict=True):
            (score,) = policy.score([Span(request.context, one.segment.ids, 0.8)])
            assert score.logp.tobytes() == present(one.segment.old).tobytes()


@pytest.mark.core
def test_a_critic_s_gradients_have_the_same_bits() -> None:
    found = []
    for choice in ("off", "on"):
        one = critic(NativeValueEngine, "qwen3")
        one.checkpointing = choice
        found.append(learnt(one, batch(), tokens=100))
    (values, grads), (other_values, other_grads) = found
    assert np.array_equal(values, other_values) and same(grads, other_grads)


def test_passes_that_are_open_together_keep_their_own_inputs() -> None:
    """The first goes back after the second went forward; the third, which is kept whole, has the first's memory."""
    found = []
    for choice in ("off", "on"):
        one = engine(model_of("qwen3"), choice)
        chunks = list(one.chunks(batch(), tokens=150))
        assert len(chunks) > 2
        opened: list[tuple[Chunk, Any]] = []
        for number, chunk in enumerate(chunks):
            one.checkpointing = "off" if number % 3 == 2 else choice
            opened.append((chunk, one.forward(chunk, Want())))
            if number % 2:
                for held, out in opened:
                    (held.streams["advantage"] * out.logp).sum().backward()
                    one.backward(held, out)
                opened.clear()
        for held, out in opened:
            (held.streams["advantage"] * out.logp).sum().backward()
            one.backward(held, out)
        one.hand_out()
        found.append({name: present(p.grad).clone() for name, p in one.model.named_parameters()})
    assert same(*found)


def test_layers_are_computed_again_where_keeping_them_takes_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """By `auto`: from the first chunk that is too large on. Nothing is kept where nothing is learnt."""
    asked: list[int] = []
    one, forward = engine(model_of(), "auto"), library.Core.forward

    def seen(self: library.Core, *arguments: Any, keep: int, **others: Any) -> None:
        asked.append(keep)
        forward(self, *arguments, keep=keep, **others)

    monkeypatch.setattr(library.Core, "forward", seen)

    def kept(tokens: int) -> list[int]:
        asked.clear()
        for chunk in one.chunks(batch(), tokens=tokens):
            assert isinstance(chunk, LaidChunk)
            one.forward(chunk, Want())
        return asked.copy()

    assert set(kept(150)) == {library.ALL}
    c = one.model.config
    each = 4 * c.layers * (4 * c.hidden + 2 * 3 * c.hidden + c.hidden + 5 * c.ffn)  # as many key heads as query heads
    monkeypatch.setattr(native, "TAPE_BYTES", 200 * each)
    assert set(kept(150)) == {library.ALL}
    assert set(kept(1000)) == {library.INPUTS} == set(kept(150))
    with torch.no_grad():
        assert set(kept(1000)) == {library.NOTHING}
    one.checkpointing = "off"
    one._again = False
    assert set(kept(1000)) == {library.ALL}
