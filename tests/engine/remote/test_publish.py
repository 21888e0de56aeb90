"""A learner's weights reach its servers, and an old tensor is found before anything is trained on what it writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import batch_of, model_of, requests_of, rows_of
from missing_core import need
from serving import QUICK, decode, expected_of, served_engine, serving, site_of

from assay.engine.interface import Want
from assay.engine.local import LocalEngine
from assay.engine.native.engine import NativeEngine
from assay.engine.paired import Paired
from assay.engine.remote.sampler import RemoteSampler
from assay.engine.remote.servers.own import AssaySite
from assay.engine.remote.weights.publish import Published, StaleWeights, probes
from assay.engine.remote.weights.receive import Receiver
from assay.engine.remote.weights.send import Files, Network
from assay.engine.torch.engine import TorchEngine
from assay.policy.adapted import attach
from assay.policy.lora import Lora
from assay.rng import Key

BATCH = batch_of(*rows_of([5, 1, 9, 3]))
TIED = pytest.mark.parametrize("tied", [True, False])


def learner_of(kind: type[LocalEngine] = NativeEngine, **changes: Any) -> LocalEngine:
    if kind is NativeEngine:
        need()
    return kind(model_of("qwen3", **changes), end_ids=frozenset({0}), decode=decode, precision="fp32")


def published(sites: list[AssaySite], learner: LocalEngine, folder: Path) -> Published:
    remote = RemoteSampler(sites, expected_of(learner), run="r", patience=QUICK)
    return Published(remote, learner, Files(folder), tolerance=1e-4)


def step(engine: Any, rate: float = 1e-2) -> None:
    for chunk in engine.chunks(BATCH, tokens=1000):
        out = engine.forward(chunk, Want())
        (chunk.streams["advantage"] * out.logp).sum().backward()
        engine.backward(chunk, out)
    engine.step(lr=rate, clip=1.0)


@pytest.mark.slow
@TIED
@pytest.mark.parametrize("kind", [NativeEngine, TorchEngine])
@pytest.mark.parametrize("by", ["files", "gloo"])
def test_servers_compute_with_what_was_published(tmp_path: Path, tied: bool, kind: type[LocalEngine], by: str) -> None:
    learner = learner_of(kind, tied=tied)
    with serving(served_engine(seed=4, tied=tied)) as one, serving(served_engine(seed=5, tied=tied)) as two:
        sites = [site_of(one.address), site_of(two.address)]
        sampler = Published(
            RemoteSampler(sites, expected_of(learner), run="r", patience=QUICK),
            learner,
            Files(tmp_path) if by == "files" else Network("gloo"),
            tolerance=1e-4,
        )
        engine = Paired(
            learner, lambda: [sampler], context=learner.context, vocab=learner.vocab, end_ids=learner.end_ids
        )
        for version in (0, 1, 2):
            made = engine.generate(requests_of(3), Key(7))
            here = learner.generate(requests_of(3), Key(7))
            assert {m.segment.version for m in made} == {version} and sampler.gap < 1e-5
            for mine, theirs in zip(made, here, strict=True):
                assert mine.segment.ids.tolist() == theirs.segment.ids.tolist()
                if kind is NativeEngine:
                    np.testing.assert_array_equal(mine.segment.old, theirs.segment.old)
            step(engine)
        size = sum(tensor.nbytes for _, tensor in learner.tensors())
        assert size <= sampler.moved < 1.05 * size + 4096 and list(tmp_path.iterdir()) == []
        sampler.close()


KINDS = (
    "embed_tokens",
    "input_layernorm",
    "q_proj",
    "k_norm",
    "o_proj",
    "gate_proj",
    "down_proj",
    "norm.weight",
    "lm_head",
)


@pytest.mark.parametrize("kind", (*KINDS, "lm_head"))
@pytest.mark.parametrize("sums", [True, False])
def test_one_old_tensor_of_each_kind_is_found_and_its_server_named(
    tmp_path: Path, kind: str, sums: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By checksums, and where a server lies about these, by the probes of the handshake alone."""
    learner = learner_of(tied=False)
    name = [name for name, _ in learner.tensors() if kind in name][-1]
    plain = Receiver.take

    def take(self: Receiver, tensor: str, first: int, rows: Any) -> None:
        if tensor != name:
            plain(self, tensor, first, rows)
        else:
            self._missing[tensor] = 0

    with serving(served_engine(tied=False)) as server:
        site = site_of(server.address)
        sampler = Published(
            RemoteSampler([site], expected_of(learner), run="r", patience=QUICK),
            learner,
            Files(tmp_path),
            tolerance=1e-4,
        )
        monkeypatch.setattr(Receiver, "take", take)
        if not sums:
            monkeypatch.setattr(Receiver, "checksums", lambda self: {})
        with pytest.raises(StaleWeights, match=f"sampler at {server.address}") as error:
            sampler.receive(learner.tensors(), 0)
        if sums:
            assert name in str(error.value)
        sampler.close()


def adapted(kind: type[LocalEngine]) -> LocalEngine:
    """A learner of an adapter whose B is not zero any more."""
    if kind is NativeEngine:
        need()
    model = attach(model_of("qwen3"), Lora(rank=2, alpha=8.0), key=Key("lora"))
    learner = kind(model, end_ids=frozenset({0}), decode=decode, precision="fp32")
    step(learner, 0.05)
    return learner


@pytest.mark.slow
@pytest.mark.parametrize("kind", [NativeEngine, TorchEngine])
def test_servers_compute_with_an_adapter_that_was_merged_for_them(tmp_path: Path, kind: type[LocalEngine]) -> None:
    """Servers know plain networks alone; on the core, their log-probs are the learner's bits all the same."""
    learner = adapted(kind)
    with serving(served_engine(seed=4)) as server:
        sampler = published([site_of(server.address)], learner, tmp_path)
        about = {"context": learner.context, "vocab": learner.vocab, "end_ids": learner.end_ids}
        engine = Paired(learner, lambda: [sampler], **about)
        for version in (1, 2):
            here, made = learner.generate(requests_of(3), Key(7)), engine.generate(requests_of(3), Key(7))
            assert {m.segment.version for m in made} == {version} and sampler.gap < 1e-5
            for mine, theirs in zip(made, here, strict=True):
                assert mine.segment.ids.tolist() == theirs.segment.ids.tolist()
                if kind is NativeEngine:
                    np.testing.assert_array_equal(mine.segment.old, theirs.segment.old)
            step(engine, 0.05)
        sampler.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["o_proj", "embed_tokens"])
def test_an_old_tensor_is_found_whether_an_adapter_or_its_base_has_it(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handshake changes what is below an adapter too, which no step ever does."""
    learner = adapted(NativeEngine)
    name = [name for name, _ in learner.tensors(merged=True) if kind in name][-1]
    plain = Receiver.take

    def take(self: Receiver, tensor: str, first: int, rows: torch.Tensor) -> None:
        if tensor != name:
            plain(self, tensor, first, rows)
        else:
            self._missing[tensor] = 0

    with serving(served_engine()) as server:
        sampler = published([site_of(server.address)], learner, tmp_path)
        monkeypatch.setattr(Receiver, "take", take)
        monkeypatch.setattr(Receiver, "checksums", lambda self: {})
        with pytest.raises(StaleWeights, match="reports the new weights"):
            sampler.receive(learner.tensors(merged=True), learner.version)
        sampler.close()


def test_a_base_of_bf16_under_an_adapter_is_published_as_samplers_keep_it(tmp_path: Path) -> None:
    """On torch the base stays in the compute format alone; a server keeps fp32, and tells checksums of that."""
    model = attach(model_of("qwen3"), Lora(rank=2, alpha=8.0), key=Key("lora"))
    learner = TorchEngine(model, end_ids=frozenset({0}), decode=decode, precision="bf16")
    with serving(served_engine(seed=4)) as server:
        remote = RemoteSampler([site_of(server.address)], expected_of(learner), run="r", patience=QUICK)
        sampler = Published(remote, learner, Files(tmp_path), tolerance=0.1)
        sampler.receive(learner.tensors(merged=True), learner.version)
        assert 0 < sampler.gap < 0.1
        sampler.close()


@pytest.mark.parametrize("make", [learner_of, adapted])
@pytest.mark.parametrize("kind", [NativeEngine, TorchEngine])
def test_disturbed_weights_all_differ_and_come_back_bit_for_bit(
    make: Callable[[type[LocalEngine]], LocalEngine], kind: type[LocalEngine]
) -> None:
    learner = make(kind)
    before = {name: tensor.clone() for name, tensor in learner.tensors(merged=True)}
    spans = probes(learner.vocab, learner.context)
    scores = [one.logp for one in learner.score(spans)]
    with learner.disturbed():
        assert all(not torch.equal(tensor, before[name]) for name, tensor in learner.tensors(merged=True))
        assert max(float(np.abs(a - b.logp).max()) for a, b in zip(scores, learner.score(spans), strict=True)) > 1e-2
    assert all(torch.equal(tensor, before[name]) for name, tensor in learner.tensors(merged=True))
    for mine, again in zip(scores, learner.score(spans), strict=True):
        np.testing.assert_array_equal(mine, again.logp)
