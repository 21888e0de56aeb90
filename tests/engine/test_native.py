"""The compiled core: bitwise promises, every variant that runs here, odd shapes, interrupts, and life without it."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import (
    FAMILIES,
    batch_of,
    collected,
    engine_of,
    exact_scores,
    model_of,
    problem_of,
    requests_of,
    rows_of,
    tokens_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from missing_core import variants
from rounding import Exact
from small_runs import ROOT
from test_engine_learner import LENGTHS, assert_same, learn, learn_again, naive
from typed import present

from assay.engine import footprint, precision
from assay.engine.choose import engine_for, processor_of
from assay.engine.interface import Generation, Span, Want
from assay.engine.local import LocalEngine
from assay.engine.native import build, library
from assay.engine.native import engine as native
from assay.engine.native.engine import NativeEngine
from assay.engine.optimiser import AdamW
from assay.engine.torch.engine import TorchEngine
from assay.errors import AssayError, ConfigError, Stopped
from assay.host import interrupt
from assay.policy.config import Rope
from assay.rng import Key
from assay.types import Request

KEY = Key(3)
every_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture
def threads() -> Iterator[None]:
    """A test may change the number of threads."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def core(family: str = "qwen2", **changes: Any) -> NativeEngine:
    engine = engine_of(family, precision="native", **changes)
    assert isinstance(engine, NativeEngine)
    return engine


def bits(generations: list[Generation]) -> list[tuple[bytes, ...]]:
    return [
        (g.segment.ids.tobytes(), *(present(x).tobytes() for x in (g.segment.old, g.segment.mu, g.segment.entropy)))
        for g in generations
    ]


def mixed(groups: int = 5, samples: int = 6) -> list[Request]:
    """Rows of several lengths, temperatures and filters."""
    ways: list[dict[str, float]] = [{}, {"temperature": 0.6, "top_p": 0.8}, {"temperature": 1.4, "top_k": 5}]
    ways += [{"min_p": 0.2}, {"temperature": 0}]
    requests = requests_of(groups, samples, max_new=40)
    return [
        dataclasses.replace(r, max_new=5 + 7 * (i % 6), **ways[i % len(ways)])  # type: ignore[arg-type]
        for i, r in enumerate(requests)
    ]


# Bitwise promises


@every_family
def test_the_sampler_s_log_probs_are_the_learner_s_bit_for_bit(family: str) -> None:
    engine, requests = core(family), mixed()
    got = engine.generate(requests, KEY)
    temperature = np.array([r.temperature or 1.0 for r in requests], np.float32)
    batch = batch_of([r.context for r in requests], [g.segment.ids for g in got], temperature=1.0)
    batch = dataclasses.replace(batch, temperature=temperature)
    seen = 0
    for tokens in (10_000, 70):
        for chunk in engine.chunks(batch, tokens=tokens):
            out = engine.forward(chunk, Want(entropy=True))
            for name, value in (("old", out.logp), ("entropy", out.entropy)):
                want = np.concatenate([getattr(got[r].segment, name) for r in chunk.rows])
                assert value is not None and value.detach().numpy().tobytes() == want.tobytes()
                seen += len(want)
    assert seen == 4 * sum(len(g.segment) for g in got)
    spans = [Span(r.context, g.segment.ids, float(t)) for r, g, t in zip(requests, got, temperature)]
    for g, score in zip(got, engine.score(spans, entropy=True)):
        assert score.logp.tobytes() == present(g.segment.old).tobytes()


@every_family
def test_nothing_but_the_row_decides_its_bits(family: str, threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the order, the rows in flight, the prompts of a prefill, the number of threads, or whether it is alone."""
    requests = mixed()
    want = bits(core(family).generate(requests, KEY))
    order = np.random.default_rng(0).permutation(len(requests))
    for count, slots, prefill in ((1, 1, 512), (2, 3, 1), (3, 56, 9), (5, 16, 512)):
        torch.set_num_threads(count)
        monkeypatch.setattr(footprint, "NATIVE_SLOTS", slots)
        monkeypatch.setattr(native, "PREFILL_TOKENS", prefill)
        engine = core(family)
        assert engine.threads == count
        assert bits(engine.generate([requests[i] for i in order], KEY)) == [want[i] for i in order]
    assert bits(engine.generate(requests[7:8], KEY)) == want[7:8]


@pytest.mark.slow
@every_family
def test_gradients_are_the_same_bits_whatever_the_threads(family: str, threads: None) -> None:
    batch = batch_of(*rows_of([*LENGTHS, 40, 33], groups=3), temperature=0.8)
    found = []
    for count in (2, 2, 1, 3):
        torch.set_num_threads(count)
        grads = learn(core(family), batch, tokens=60)  # type: ignore[arg-type]
        found.append(torch.cat([g.flatten() for g in grads.values()]))
    assert all(torch.equal(found[0], other) for other in found[1:])


@pytest.mark.slow
def test_a_chunk_of_which_nothing_is_learnt_adds_nothing(threads: None) -> None:
    """Whatever the chunk before it left behind, also where one thread is ahead of the others."""
    torch.set_num_threads(2)
    engine, batch = core(), batch_of(*rows_of([*LENGTHS, 40, 33], groups=3), temperature=0.8)
    (chunk,) = engine.chunks(batch, tokens=10_000)
    for turn in range(50):
        for coefficient in (1.0, 0.0):
            outputs = engine.forward(chunk, Want())
            outputs.logp.grad = torch.full_like(outputs.logp, coefficient)
            engine.backward(chunk, outputs)
            grads = collected(engine)
            assert any(bool(g.any()) for g in grads.values()) == bool(coefficient), turn


def test_the_first_ratio_is_one() -> None:
    engine, requests = core(), requests_of(4, 4, max_new=12)
    got = engine.generate(requests, KEY)
    old = np.concatenate([present(g.segment.old) for g in got])
    batch = batch_of([r.context for r in requests], [g.segment.ids for g in got], old=old)
    for chunk in engine.chunks(batch, tokens=30):
        ratio = (engine.forward(chunk, Want()).logp.detach() - chunk.streams["old"]).exp()
        assert torch.equal(ratio, torch.ones_like(ratio))


# Right numbers


@pytest.mark.parametrize(
    "variant",
    variants("fp32", fast=1),  # of bf16: test_native_bf16.py
)  # the first is the one that all other tests run on; another must be compiled
@every_family
def test_every_variant_of_this_processor_gives_the_gradient(
    variant: build.Variant, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(build.CHOICE, variant.name)
    engine = core(family)
    assert engine.place == f"cpu native {variant.name}"
    batch = batch_of(*rows_of([*LENGTHS, 50], groups=3), temperature=0.7)
    assert_same(learn(engine, batch), naive(engine, batch))
    requests = requests_of(3, 5, max_new=30)
    for request, got in zip(requests, engine.generate(requests, KEY)):
        (score,) = engine.score([Span(request.context, got.segment.ids)])
        assert score.logp.tobytes() == present(got.segment.old).tobytes()


@pytest.mark.slow
@settings(max_examples=25)
@given(st.data())
def test_shapes_of_every_kind(data: st.DataObject) -> None:
    """Answers of 0 to 300 tokens, groups of 1 to 64, prompts of one token, sizes that fill no vector."""
    kv_heads = data.draw(st.integers(1, 3))
    shape = {
        "hidden": data.draw(st.integers(4, 40)),
        "kv_heads": kv_heads,
        "heads": kv_heads * data.draw(st.sampled_from([1, 2, 9])),
        "head_dim": 2 * data.draw(st.integers(1, 20)),
        "ffn": data.draw(st.integers(1, 70)),
        "layers": data.draw(st.integers(1, 2)),
        "vocab": data.draw(st.integers(2, 70)),
        "context": 320,
    }
    family = data.draw(st.sampled_from(["qwen2", "qwen3"]))
    lengths = data.draw(
        st.one_of(
            st.lists(st.integers(0, 20), min_size=1, max_size=64),
            st.lists(st.sampled_from([0, 1, 300]), min_size=1, max_size=3),
        ).filter(any)
    )
    random = np.random.default_rng(data.draw(st.integers(0, 9)))
    groups = data.draw(st.integers(1, 4))
    prompts = [random.integers(0, shape["vocab"], random.integers(1, 18)).astype(np.int32) for _ in range(groups)]
    answers = [random.integers(0, shape["vocab"], n).astype(np.int32) for n in lengths]
    batch = batch_of([prompts[i % groups] for i in range(len(lengths))], answers, temperature=0.9)
    ours = core(family, **shape)
    tokens = data.draw(st.sampled_from([1, 40, 10_000]))

    def compute(model: Any) -> dict[str, torch.Tensor]:
        theirs = TorchEngine(model, end_ids=frozenset(), precision="fp64", optimiser=AdamW())
        return learn(theirs, batch)

    Exact(ours.model, compute, tokens=tokens_of(batch)).require_all(learn(ours, batch, tokens=tokens))


def test_rows_that_all_end_at_once_and_rows_that_end_with_their_first_token() -> None:
    engine = core(end=None)
    engine.end_ids = frozenset(range(13))
    for got in engine.generate(requests_of(9, 40, max_new=7), KEY):
        assert len(got.segment) == 1 and got.finish == "stop"
    engine.end_ids = frozenset()
    assert all(len(g.segment) == 7 for g in engine.generate(requests_of(9, 40, max_new=7), KEY))


def test_positions_of_every_rope() -> None:
    for rope in (
        Rope("linear", factor=4.0),
        Rope("longrope", original_context=16, short_factor=(1.0, 1.0), long_factor=(2.0, 5.0)),
        Rope("yarn", factor=4.0, original_context=32),
    ):
        ours = core(rope=rope)
        spans = [Span(c, a) for c, a in zip(*rows_of([120, 3]))]
        found = np.concatenate([score.logp for score in ours.score(spans)])
        exact_scores(ours.model, spans).require(logp=found)


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_large_vocabulary_goes_in_parts() -> None:
    """More logits than are kept between the passes: they are computed twice, and the gradient is the same.

    So is the mean of their log-probs.
    """
    shape: dict[str, Any] = {"vocab": 60_000, "layers": 1}
    engine = core(**shape)
    top = np.random.default_rng(0).integers(0, 60_000, (400, 2)).astype(np.int32)
    batch = batch_of(*rows_of([200, 200], vocab=60_000), top_ids=top)

    def learnt(engine: LocalEngine) -> dict[str, torch.Tensor]:
        means = []
        for chunk in engine.chunks(batch, tokens=10_000):
            out = engine.forward(chunk, Want(entropy=True, top_ids=True, mean_logp=True))
            assert out.top_logp is not None and out.entropy is not None and out.mean_logp is not None
            means.append(out.mean_logp)
            (out.logp.sum() + 0.1 * out.entropy.sum() + (out.top_logp * torch.tensor([1.0, -0.5])).sum()).backward()
            engine.backward(chunk, out)
        return {"mean_logp": torch.cat(means), **collected(engine)}

    def compute(model: Any) -> dict[str, torch.Tensor]:
        return learnt(TorchEngine(model, end_ids=frozenset(), precision="fp64", optimiser=AdamW()))

    Exact(engine.model, compute, tokens=tokens_of(batch)).require_all(learnt(engine))


def test_coefficients_that_are_zero_cost_nothing_and_change_nothing() -> None:
    engine = core()
    batch = batch_of(*rows_of(LENGTHS))
    advantage = np.where(np.arange(len(batch.ids)) % 3, 0.0, batch.advantage).astype(np.float32)
    sparse = dataclasses.replace(batch, advantage=advantage)
    assert_same(learn(engine, sparse), naive(engine, sparse))
    silent = dataclasses.replace(batch, advantage=np.zeros_like(batch.advantage))
    assert all(not g.any() for g in learn(engine, silent, spread=0.0).values())


# Interrupts and refusals


def endless() -> tuple[NativeEngine, list[Request]]:
    engine = core(end=None, context=40_000, hidden=64, layers=4)
    context = np.array([1], np.int32)
    return engine, [Request(problem_of(i), context, str(i), 39_000) for i in range(64)]


class Alarm(Exception):
    """What the handler of a signal raises."""


@pytest.mark.slow
def test_a_signal_ends_the_work_at_once_and_the_core_goes_on() -> None:
    engine, requests = endless()
    calm = bits(engine.generate(requests_of(2, 2), KEY))

    def ring(*_: object) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        began = time.monotonic()
        with pytest.raises(Alarm):
            engine.generate(requests, KEY)
        assert time.monotonic() - began < 20, "without the signal it would take minutes"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert bits(engine.generate(requests_of(2, 2), KEY)) == calm


@pytest.mark.slow
def test_a_finished_answer_is_told_while_another_is_written() -> None:
    """The long answer looks for a stop string after each token, and at the third waits until the short one was told."""
    told = threading.Event()

    def decode(ids: Sequence[int]) -> str:
        assert len(ids) < 3 or told.wait(60), "the short answer was not told while the long one was written"
        return ""

    engine = core(end=None, decode=decode)
    short, long = requests_of(2, 1)
    requests = [dataclasses.replace(short, max_new=2), dataclasses.replace(long, max_new=9, stop=("x",))]
    order: list[int] = []

    def done(place: int, generation: Generation) -> None:
        order.append(place)
        told.set()

    made = engine.generate(requests, KEY, done=done)
    assert order == [0, 1] and [len(one.segment) for one in made] == [2, 9]


@pytest.mark.slow
def test_a_polite_stop_is_heard_while_the_core_works() -> None:
    engine, requests = endless()
    asked = []

    def check() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise Stopped("enough")

    with interrupt.asking(check), pytest.raises(Stopped, match="enough"):
        engine.generate(requests, KEY)
    assert len(asked) == 3
    engine.generate(requests_of(2, 2), KEY)
    assert len(asked) == 3, "nobody asks any more"


def test_a_broken_decoder_is_its_own_error() -> None:
    def decode(ids: object) -> str:
        raise ZeroDivisionError("of the decoder")

    engine = core(decode=decode)
    requests = [dataclasses.replace(r, stop=("x",)) for r in requests_of(2, 2)]
    with pytest.raises(ZeroDivisionError, match="of the decoder"):
        engine.generate(requests, KEY)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ids": 13}, "token id number 0 is 13, expected 0 to 12"),
        ({"ids": -1}, "token id number 0 is -1"),
        ({"positions": 256}, "position number 0 is 256, expected 0 to 255"),
        ({"predict": 10_000}, "predicting token number 0"),
        ({"start": 10_000}, "a row lies outside of the tokens"),
        ({"length": 10_000}, "a row lies outside of the tokens"),
    ],
)
def test_the_border_checks_what_comes_in(change: dict[str, int], words: str) -> None:
    engine = core()
    (chunk,) = engine.chunks(batch_of(*rows_of([5, 4])), tokens=100)
    for name, value in change.items():
        getattr(chunk.layout, name)[0] = value
    with pytest.raises(AssayError, match=words):
        engine.forward(chunk, Want())
    (sound,) = engine.chunks(batch_of(*rows_of([5, 4])), tokens=100)
    assert torch.isfinite(engine.forward(sound, Want()).logp).all()


def test_a_response_id_beyond_the_vocabulary_is_refused() -> None:
    contexts, answers = rows_of([5])
    answers[0][-1] = 13
    with pytest.raises(AssayError, match="response id number 4 is 13"):
        core().score([Span(contexts[0], answers[0])])


def test_a_frozen_core_keeps_nothing_for_a_backward_pass() -> None:
    engine = core(optimiser=None)
    (chunk,) = engine.chunks(batch_of(*rows_of([5, 4])), tokens=100)
    assert not engine.forward(chunk, Want()).logp.requires_grad


@pytest.mark.slow
def test_passes_are_used_again_and_many_may_be_open() -> None:
    engine = core()
    chunks = list(engine.chunks(batch_of(*rows_of(LENGTHS)), tokens=20))
    assert len(chunks) > 2
    outs = [engine.forward(chunk, Want(entropy=True)) for chunk in chunks]
    for chunk, out in reversed(list(zip(chunks, outs))):
        a = chunk.streams["advantage"]
        ((a * out.logp).sum() + 0.3 * (a.square() * present(out.entropy)).sum()).backward()
        engine.backward(chunk, out)
    engine.hand_out()
    got = {name: p.grad for name, p in engine.model.named_parameters() if p.grad is not None}
    assert_same(got, naive(engine, batch_of(*rows_of(LENGTHS))))
    assert len(engine._spare) == len(chunks)
    engine.model.zero_grad()
    learn_again(engine, batch_of(*rows_of(LENGTHS)), tokens=20)
    assert len(engine._spare) == len(chunks)


# With and without a compiler


@pytest.mark.core
def test_the_core_is_chosen_where_it_runs_and_refused_where_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine_for("auto", "cpu", "fp32").engine is NativeEngine
    assert engine_for("torch", "cpu", "fp32").engine is TorchEngine
    assert "not on meta" in engine_for("auto", "meta", "fp32").reason
    large = engine_for("auto", "cpu", "fp32", parameters=494_000_000)
    assert large.engine is TorchEngine and "494 million" in large.reason and not large.refused
    assert engine_for("native", "cpu", "fp32", parameters=494_000_000).engine is NativeEngine
    with pytest.raises(ConfigError, match=r"machine\.engine is native, but the core runs on processors"):
        engine_for("native", "meta", "fp32")
    with pytest.raises(ConfigError, match="fp32 and bf16, not in float64"):
        NativeEngine(model_of(), end_ids=frozenset(), precision="fp64")


def test_while_the_core_works_torch_keeps_to_one_thread(threads: None) -> None:
    torch.set_num_threads(2)
    with processor_of(core()):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    with processor_of(TorchEngine(model_of(), end_ids=frozenset(), precision="fp32")):
        assert torch.get_num_threads() == 2


def test_without_a_compiler_torch_computes_and_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in (build.COMPILER, build.CHOICE):
        monkeypatch.delenv(name, raising=False)
    choice = engine_for("auto", "cpu", "fp32")
    assert choice.engine is TorchEngine
    assert "no C++ compiler" in choice.reason and "g++" in choice.reason
    with pytest.raises(ConfigError, match="C\\+\\+ compiler"):
        engine_for("native", "cpu", "fp32")


def test_a_compiler_that_fails_leaves_nothing_behind_and_is_quoted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'no room for vectors' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(build.COMPILER, str(broken))
    monkeypatch.delenv(build.CHOICE, raising=False)
    assert "no room for vectors" in engine_for("auto", "cpu", "fp32").reason
    assert list((tmp_path / "cache" / "core").iterdir()) == []
    monkeypatch.setenv(build.COMPILER, "not-there")
    assert "CXX=not-there" in engine_for("auto", "cpu", "fp32").reason


@pytest.mark.core
def test_a_cache_that_cannot_be_written_or_loaded_is_said_aloud(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "core").write_text("a file where the folder should be")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    assert "could not be kept in" in engine_for("auto", "cpu", "fp32").reason
    monkeypatch.setattr(build, "library", lambda _: tmp_path / "core")
    assert "cannot be loaded" in engine_for("auto", "cpu", "fp32").reason


def test_a_variant_that_does_not_run_here_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.CHOICE, "abacus")
    reason = engine_for("auto", "cpu", "fp32").reason
    assert "ASSAY_CORE=abacus" in reason and build.runnable()[0].name in reason and "none" in reason


def test_the_core_is_turned_off_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.CHOICE, "none")
    choice = engine_for("auto", "cpu", "fp32")
    assert choice.engine is TorchEngine and choice.reason == "ASSAY_CORE=none turns the core off"


@pytest.mark.parametrize("variant", variants())
def test_a_variant_that_is_named_is_the_processor_that_has_no_more(
    variant: build.Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it has no bf16, `auto` is fp32, also on a processor with bf16 products, so that the core can be used."""
    monkeypatch.setenv(build.CHOICE, variant.name)
    compute, reason = precision.choose("auto", torch.device("cpu"))
    if variant.format == "fp32":
        assert compute == torch.float32 and "ASSAY_CORE" in reason
        assert engine_for("auto", "cpu", "auto").engine is NativeEngine


@pytest.mark.core
def test_a_build_is_named_by_all_that_decides_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = build.compiler()
    plain = build._digest(compiler, build.COMMON)
    assert plain == build._digest(compiler, build.COMMON)
    assert plain != build._digest(compiler, (*build.COMMON, "-g"))
    source = tmp_path / "core"
    source.mkdir()
    for file in build.SOURCE.iterdir():
        (source / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(build, "SOURCE", source)
    assert plain == build._digest(compiler, build.COMMON)
    (source / "head.h").write_text((source / "head.h").read_text() + "\n")
    assert plain != build._digest(compiler, build.COMMON)


@pytest.mark.slow
@pytest.mark.parametrize("variant", variants())
def test_lanes_are_those_of_the_variant(variant: build.Variant) -> None:
    lanes = {"avx512": 16, "avx2": 8, "neon": 4}
    assert library.load(build.library(variant)).assay_lanes() == lanes[variant.name.partition("-")[0]]


@pytest.mark.core
@pytest.mark.slow
def test_a_forked_child_may_drop_the_engine_of_its_parent() -> None:
    line = (
        "import os, sys; sys.path[:0] = ['tests']\n"
        "from engine_cases import engine_of\n"
        "engine = engine_of(precision='native')\n"
        "pid = os.fork()\n"
        "del engine\n"
        "sys.exit(0) if pid == 0 else sys.exit(os.waitpid(pid, 0)[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", line], cwd=ROOT, timeout=120, env=os.environ)
    assert done.returncode == 0
