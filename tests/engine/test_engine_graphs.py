"""Recorded decoding: the tokens of the plain step, nothing that a CUDA graph could not hold, nothing left behind."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import FAMILIES, engine_of, model_of, requests_of
from hypothesis import given
from hypothesis import strategies as st
from rounding import units
from torch.utils._python_dispatch import TorchDispatchMode
from typed import as_torch, present

from assay.engine.interface import Generation
from assay.engine.local import LocalEngine
from assay.engine.torch import deck, graphs, voices
from assay.engine.torch.deck import Deck, Shelf, Stepping
from assay.engine.torch.decode import Decoder, Need
from assay.engine.torch.engine import TorchEngine
from assay.engine.torch.flight import Board, Needs, Pace
from assay.engine.torch.graphs import Bucketed
from assay.engine.torch.kernels.plain import PLAIN, attend_shared
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
        self.before: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.removeprefix("aten::")
        assert not name.startswith(WAITS), f"{name} waits for the device"
        given = [a for a in args if isinstance(a, torch.Tensor)]
        flags = [i for a in args if isinstance(a, list) for i in a if isinstance(i, torch.Tensor)]
        assert not (name == "index" and any(i.dtype == torch.bool for i in flags)), "a shape that depends on values"
        if func._schema.is_mutable:
            self._remember(args[0] if "out" not in (kwargs or {}) else (kwargs or {})["out"])
        out = func(*args, **(kwargs or {}))
        memory = {t.untyped_storage().data_ptr() for t in given}
        view = isinstance(out, torch.Tensor) and out.untyped_storage().data_ptr() in memory
        if isinstance(out, torch.Tensor | tuple) and (func._schema.is_mutable or not view):
            self.done.append((func, args, kwargs or {}, out))
        return out

    def _remember(self, changed: torch.Tensor) -> None:
        storage = changed.untyped_storage()
        if storage.data_ptr() not in self.before:
            self.before[storage.data_ptr()] = storage, storage.clone()

    def undo(self) -> None:
        """A graph is recorded without being run."""
        for storage, copy in self.before.values():
            storage.copy_(copy)

    def replay(self) -> None:
        for func, args, kwargs, out in self.done:
            again = func(*args, **kwargs)
            if not func._schema.is_mutable:
                for old, new in zip((out,), (again,)) if isinstance(out, torch.Tensor) else zip(out, again):
                    old.copy_(new)


class Recorder:
    """Records on tapes, and counts."""

    def __init__(self) -> None:
        self.recorded = self.replayed = 0

    def __call__(self, step: Callable[[], None]) -> Callable[[], None]:
        tape = Tape()
        with tape:
            step()
        tape.undo()
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


def by_tapes(recorder: Recorder, seen: set[tuple[int, int, int]]) -> Callable[..., Bucketed]:
    """In the place of `deck.recorded`: a deck's steps on tapes."""

    def recorded(stepping: Stepping, slots: int) -> Bucketed:
        def take(rows: int, columns: int, needs: Needs) -> None:
            seen.add((rows, columns, stepping.cache.variant))
            stepping.take(rows, columns, needs)

        return Bucketed(take, recorder, slots=slots, room=stepping.cache.room)

    return recorded


def require_same(want: Sequence[Generation], got: Sequence[Generation]) -> None:
    for wanted, mine in zip(want, got, strict=True):
        assert mine.finish == wanted.finish
        np.testing.assert_array_equal(mine.segment.ids, wanted.segment.ids)
        for name in ("old", "mu", "entropy"):
            a, b = getattr(mine.segment, name), getattr(wanted.segment, name)
            np.testing.assert_allclose(a, b, atol=units(1, b))  # computed in fp64, stored in fp32


SHARED = replace(PLAIN, attend_shared=attend_shared)
DRAWS: dict[str, dict[str, Any]] = {
    "plain": {},
    "warm": {"temperature": 0.7},
    "filtered": {"top_k": 5, "top_p": 0.9, "min_p": 0.01},
    "greedy": {"temperature": 0.0},
    "barred": {"barred": (3, 4)},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "draws"),
    [*((kind, "plain") for kind in [*FAMILIES, "adapted"] if kind != "qwen2"), *(("qwen2", name) for name in DRAWS)],
)
@pytest.mark.parametrize("pace", [Pace(1, 0), Pace(8, 1)], ids=["at once", "late"])
@pytest.mark.parametrize("shared", [False, True], ids=["copied", "shared"])
def test_replayed_steps_write_what_plain_steps_write(
    kind: str, draws: str, pace: Pace, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a copy of its prompt in each row's cache, and with prompts that lie once in a store."""
    engine = adapted() if kind == "adapted" else engine_of(kind, precision="fp64")
    requests = requests_of(5, 4, max_new=30, **DRAWS[draws])
    engine.memory_bytes = 7 * voices.row_bytes(as_torch(engine).network, 36)  # rows leave, others take their slots
    plain = engine.generate(requests, KEY)
    if shared:
        as_torch(engine).network.kernels = SHARED
    recorder, seen = Recorder(), set[tuple[int, int, int]]()
    monkeypatch.setattr(graphs, "LEAST_COLUMNS", 4)
    monkeypatch.setattr(deck, "recorded", by_tapes(recorder, seen))
    monkeypatch.setattr(Pace, "of", lambda device: pace)
    require_same(plain, engine.generate(requests, KEY))
    assert 7 in {rows for rows, *_ in seen} and len({columns for _, columns, _ in seen}) > 2
    assert recorder.recorded <= len(seen) and recorder.replayed > recorder.recorded


@pytest.mark.slow
def test_a_deck_that_stays_replays_with_the_weights_of_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorded steps read the weights where they lie, so new ones must lie there too; and no call leaves a row."""
    recorder, made = Recorder(), list[Deck]()
    monkeypatch.setattr(deck, "recorded", by_tapes(recorder, set()))
    for kind, kernels in (("qwen3", PLAIN), ("adapted", PLAIN), ("qwen3", SHARED)):
        engine, other = (
            adapted() if kind == "adapted" else as_torch(engine_of(kind, precision="fp64")) for _ in range(2)
        )
        engine.shelf, engine.network.kernels = Shelf(stays=True), kernels
        for number in range(3):
            requests = requests_of(3, 4, max_new=12 - number, **([{}, DRAWS["barred"], {"barred": (5,)}][number]))
            with monkeypatch.context() as plainly:
                plainly.setattr(deck, "recorded", lambda *_, **__: None)
                want = other.generate(requests, KEY)
            for _ in range(2):
                require_same(want, engine.generate(requests, KEY))
            made.append(present(engine.shelf._deck))
            for one in (engine, other):
                state = one.state()
                shifted = {k: v + 0.01 if k.startswith("parameter/") else v for k, v in state.items()}
                one.load(shifted)
        assert len({id(one) for one in made[-3:]}) == 1
        wider = requests_of(3, 4, max_new=20)
        with monkeypatch.context() as plainly:
            plainly.setattr(deck, "recorded", lambda *_, **__: None)
            want = other.generate(wider, KEY)
        require_same(want, engine.generate(wider, KEY))
        assert engine.shelf._deck is not made[-1], "it was too small"


@pytest.mark.slow
def test_a_step_that_asks_its_values_is_no_graph() -> None:
    def waits() -> None:
        torch.ones(3).sum().item()

    def shaped() -> None:
        torch.arange(3)[torch.tensor([True, False, True])]

    for step in (waits, shaped):
        with pytest.raises(AssertionError, match=r"waits for the device|depends on values"):
            Recorder()(step)


NEEDS = Needs(False, False, False, False)


def bucketed(slots: int, length: int) -> tuple[Bucketed, Stepping, Recorder]:
    about: dict[str, Any] = {"device": torch.device("cpu"), "wide": torch.float32}
    voice = voices.Alone(Network(model_of(), torch.float32))
    board = Board(slots=slots, width=length, stride=100, vocab=voice.vocab, **about)
    stepping, recorder = Stepping(voice, voice.decoding(Need(slots, length, length, 1, 1)), board), Recorder()
    return Bucketed(stepping.take, recorder, slots=slots, room=length), stepping, recorder


@pytest.mark.slow
@given(slots=st.integers(1, 40), length=st.integers(1, 3000), data=st.data())
def test_a_bucket_holds_what_is_asked_and_little_more(slots: int, length: int, data: st.DataObject) -> None:
    made = Bucketed(lambda *_: None, Recorder(), slots=slots, room=length)
    rows, longest = data.draw(st.integers(1, slots)), data.draw(st.integers(1, length))
    wide, columns = made.bucket(rows, longest)
    assert rows <= wide <= slots and wide < 2 * rows
    assert longest <= columns <= length and columns - longest < max(64, length / 8 + 1)
    assert len({made.bucket(1, n)[1] for n in range(1, length + 1)}) <= 8


@pytest.mark.slow
def test_a_bucket_is_recorded_once_and_taken_plainly_before() -> None:
    made, _, recorder = bucketed(4, 64)
    with torch.inference_mode():
        for t in range(5):
            made(3, t + 1, NEEDS)
            assert (recorder.recorded, recorder.replayed) == (min(t, 1), t)


def test_rows_that_fill_up_touch_only_the_beginning_of_free_slots() -> None:
    made, stepping, _ = bucketed(8, 64)
    board, cache = stepping.board, stepping.cache
    assert isinstance(cache, Decoder)
    before = cache.keys.view(2, 8, 4, 64, 4)
    board.base[:5].fill_(7)
    board.live[:5].fill_(True)
    board.limit[:5].fill_(9)
    with torch.inference_mode():
        made(5, 8, NEEDS)
    written = (before != 0).any(-1).any(2).any(0)  # [slots, columns]
    assert written.nonzero().tolist() == [[s, 7] for s in range(5)] + [[s, 0] for s in range(5, 8)]
    assert board.fresh[0, 4].tolist() == [1.0] * 5 + [0.0] * 3, "rows that fill up write nothing"
    assert board.done.tolist() == [1] * 5 + [0] * 3


@pytest.mark.slow
@pytest.mark.parametrize("recorded", [False, True], ids=["plain", "bucketed"])
def test_nothing_of_the_cache_outlives_the_sampling(recorded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The learner begins with the memory that the sampler had: by reference counts alone, without a collection."""
    engine: LocalEngine = engine_of("grouped")
    left: list[weakref.ref] = []

    def at_once(step: Callable[[], None]) -> Callable[[], None]:
        return step

    def by_buckets(stepping: Stepping, slots: int) -> Bucketed | None:
        assert isinstance(stepping.cache, Decoder)
        left.extend(map(weakref.ref, (stepping.cache.keys, stepping.cache.values, stepping.cache, stepping.board.u)))
        return Bucketed(stepping.take, at_once, slots=slots, room=stepping.cache.room) if recorded else None

    monkeypatch.setattr(deck, "recorded", by_buckets)
    gc.collect()
    gc.disable()
    try:
        engine.generate(requests_of(3, 4), KEY)
        assert len(left) == 4 and all(ref() is None for ref in left)
    finally:
        gc.enable()
