"""Recorded decoding: the tokens of the plain step, nothing that a CUDA graph could not hold, nothing left behind."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import FAMILIES, engine_of, model_of, requests_of
from hypothesis import given
from hypothesis import strategies as st
from rounding import units
from torch.utils._python_dispatch import TorchDispatchMode
from typed import as_torch

from assay.engine.local import LocalEngine
from assay.engine.torch import graphs, sampler
from assay.engine.torch.decode import Decoder
from assay.engine.torch.engine import TorchEngine
from assay.engine.torch.graphs import Bucketed
from assay.engine.torch.network import Network
from assay.policy.adapted import attach
from assay.policy.lora import Lora
from assay.rng import Key

KEY = Key(3)
WAITS = ("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "item", "unique", "lift_fresh")


class Tape(TorchDispatchMode):
    """What a CUDA graph is, on a processor: the operations of one pass with their shapes and their very tensors. A
    replay does them again on the same memory and knows nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[tuple[Any, tuple, dict, Any]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.removeprefix("aten::")
        assert not name.startswith(WAITS), f"{name} waits for the device"
        given = [a for a in args if isinstance(a, torch.Tensor)]
        flags = [i for a in args if isinstance(a, list) for i in a if isinstance(i, torch.Tensor)]
        assert not (name == "index" and any(i.dtype == torch.bool for i in flags)), "a shape that depends on values"
        out = func(*args, **(kwargs or {}))
        memory = {t.untyped_storage().data_ptr() for t in given}
        view = isinstance(out, torch.Tensor) and out.untyped_storage().data_ptr() in memory
        if isinstance(out, torch.Tensor) and (func._schema.is_mutable or not view):
            self.done.append((func, args, kwargs or {}, out))
        return out

    def replay(self) -> None:
        for func, args, kwargs, out in self.done:
            again = func(*args, **kwargs)
            if not func._schema.is_mutable:
                out.copy_(again)


class Recorder:
    """Records on tapes, and counts."""

    def __init__(self) -> None:
        self.recorded = self.replayed = 0

    def __call__(self, step: Callable[[], None]) -> Callable[[], None]:
        tape = Tape()
        with tape:
            step()
        self.recorded += 1

        def replay() -> None:
            self.replayed += 1
            tape.replay()

        return replay


def adapted() -> TorchEngine:
    model = model_of("grouped")
    attach(model, Lora(rank=2), key=Key(0))
    generator = torch.Generator().manual_seed(5)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_(generator=generator)
    return TorchEngine(model, end_ids=frozenset({0}), precision="fp64")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*FAMILIES, "adapted"])
def test_replayed_steps_write_what_plain_steps_write(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = adapted() if kind == "adapted" else engine_of(kind, precision="fp64")
    requests = requests_of(5, 4, max_new=30)
    engine.memory_bytes = 7 * sampler.row_bytes(as_torch(engine).network, 36)  # rows leave, others take their slots
    plain = engine.generate(requests, KEY)
    recorder, seen = Recorder(), set()

    def stepper(decoder: Decoder) -> graphs.DecodeStep:
        made = Bucketed(decoder, recorder)

        def step(*arguments):
            hidden = made.step(*arguments)
            seen.update(made.known)
            return hidden

        return step

    monkeypatch.setattr(graphs, "LEAST_COLUMNS", 4)
    monkeypatch.setattr(sampler, "stepper", stepper)
    for want, got in zip(plain, engine.generate(requests, KEY), strict=True):
        assert got.finish == want.finish
        np.testing.assert_array_equal(got.segment.ids, want.segment.ids)
        for name in ("old", "mu", "entropy"):
            mine, plain_one = getattr(got.segment, name), getattr(want.segment, name)
            np.testing.assert_allclose(mine, plain_one, atol=units(1, plain_one))  # computed in fp64, stored in fp32
    assert {rows for rows, _ in seen} >= {2, 4, 7} and len({columns for _, columns in seen}) > 2
    assert recorder.recorded <= len(seen) and recorder.replayed > 2 * recorder.recorded


@pytest.mark.slow
def test_a_step_that_asks_its_values_is_no_graph() -> None:
    def waits() -> None:
        torch.ones(3).sum().item()

    def shaped() -> None:
        torch.arange(3)[torch.tensor([True, False, True])]

    for step in (waits, shaped):
        with pytest.raises(AssertionError, match=r"waits for the device|depends on values"):
            Recorder()(step)


def bucketed(slots: int, length: int) -> Bucketed:
    return Bucketed(Decoder(Network(model_of(), torch.float32), slots=slots, length=length), Recorder())


@pytest.mark.slow
@given(slots=st.integers(1, 40), length=st.integers(1, 3000), data=st.data())
def test_a_bucket_holds_what_is_asked_and_little_more(slots: int, length: int, data: st.DataObject) -> None:
    made = bucketed(slots, length)
    rows, longest = data.draw(st.integers(1, slots)), data.draw(st.integers(1, length))
    wide, columns = made.bucket(rows, longest)
    assert rows <= wide <= slots and wide < 2 * rows
    assert longest <= columns <= length and columns - longest < max(64, length / 8 + 1)
    assert len({made.bucket(1, n)[1] for n in range(1, length + 1)}) <= 8


@pytest.mark.slow
def test_a_bucket_is_recorded_once_and_taken_plainly_before() -> None:
    made = bucketed(4, 64)
    assert isinstance(made.record, Recorder)
    with torch.inference_mode():
        for t in range(5):
            made.step(torch.tensor([1, 2, 3]), torch.full((3,), t), t + 1, True)
            assert (made.record.recorded, made.record.replayed) == (min(t, 1), t)


def test_rows_that_fill_up_touch_only_the_beginning_of_free_slots() -> None:
    made = bucketed(8, 64)
    made.positions.fill_(9)  # of rows that are gone
    before = made.decoder.keys.view(2, 8, 4, 64, 4)
    with torch.inference_mode():
        made.step(torch.tensor([1, 2, 3, 4, 5]), torch.full((5,), 7), 8, True)
    written = (before != 0).any(-1).any(2).any(0)  # [slots, columns]
    assert written.nonzero().tolist() == [[s, 7] for s in range(5)] + [[s, 0] for s in range(5, 8)]


@pytest.mark.slow
@pytest.mark.parametrize("recorded", [False, True], ids=["plain", "bucketed"])
def test_nothing_of_the_cache_outlives_the_sampling(recorded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The learner begins with the memory that the sampler had: by reference counts alone, without a collection."""
    engine: LocalEngine = engine_of("grouped")
    caches: list[weakref.ref] = []

    def at_once(step: Callable[[], None]) -> Callable[[], None]:
        step()
        return lambda: None

    def stepper(decoder: Decoder) -> graphs.DecodeStep:
        made = Bucketed(decoder, at_once)
        caches.extend(map(weakref.ref, (decoder.keys, decoder.values, decoder, made.hidden)))
        return made.step if recorded else decoder.step

    monkeypatch.setattr(sampler, "stepper", stepper)
    gc.collect()
    gc.disable()
    try:
        engine.generate(requests_of(3, 4), KEY)
        assert len(caches) == 4 and all(ref() is None for ref in caches)
    finally:
        gc.enable()
