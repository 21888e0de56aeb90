"""Answers are those of the weights that a run has published, whatever a server calls the weights that it has."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import batch_of, engine_of, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import QUICK, bits, decode, expected_of, own, served_engine, serving, varied, wire_to

from assay.engine.interface import Span
from assay.engine.local import LocalEngine
from assay.engine.paired import Paired
from assay.engine.remote.sampler import RemoteSampler
from assay.engine.remote.servers.http_server import Server
from assay.engine.remote.servers.own import AssaySite
from assay.engine.remote.transport.site import StaleWeights
from assay.engine.remote.transport.wire import Gone, Wire
from assay.engine.remote.weights.publish import Published
from assay.engine.remote.weights.receive import checksum, digest_of
from assay.engine.remote.weights.send import Files
from assay.errors import ConfigError, EndpointError
from assay.objective import NoRatio, Objective, Open
from assay.objective.improve import accumulate
from assay.policy.safetensors_folder import write_weights
from assay.rng import Key
from assay.types import Origin

KEY, RUN = Key(3), "a run"


def learner_of() -> LocalEngine:
    return engine_of("qwen3", precision="native", seed=7, decode=decode)


def published(server: Server, learner: LocalEngine, folder: Path) -> Published:
    remote = RemoteSampler(own(server), expected_of(learner), run=RUN, patience=QUICK, place=learner.place)
    return Published(remote, learner, Files(folder / "weights"), tolerance=1e-4)


def give_weights(wire: Wire, folder: Path, label: str, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """What a foreign process does that knows the name of the run: the learner's weights, changed, under its label."""
    theirs = learner_of()
    tensors = {name: change(tensor.detach().clone()) for name, tensor in theirs.tensors(merged=True)}
    folder.mkdir()
    write_weights(folder, tensors, max_shard_bytes=10**9)
    for path, body in (
        ("/start_weight_update", {}),
        ("/update_weights", {"update_info": {"folder": str(folder)}}),
        ("/finish_weight_update", {"weight_version": label}),
    ):
        wire.json("POST", path, {"assay": {"run": RUN}, **body}, seconds=20.0)


def least(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with the last bit of its first number turned."""
    if tensor.dim() == 1:
        return tensor
    bits_of = tensor.view(-1)[:1].view(torch.int32)
    bits_of ^= 1
    return tensor


@pytest.mark.slow
@pytest.mark.parametrize("change", [lambda tensor: tensor * 1.1, least])
def test_weights_of_a_foreign_process_under_the_same_label_end_the_run(
    change: Callable[[torch.Tensor], torch.Tensor], tmp_path: Path
) -> None:
    learner = learner_of()
    with serving(served_engine()) as server:
        sampler = published(server, learner, tmp_path)
        sampler.receive(learner.tensors(merged=True), 0)
        assert bits(sampler.generate(varied(9), KEY)) == bits(learner.generate(varied(9), KEY))
        for stranger in (Wire(server.address), Wire(server.address, "a guess of the secret")):
            with pytest.raises(ConfigError, match="does not know this run's secret"):
                give_weights(stranger, tmp_path / f"stranger {id(stranger)}", "0", change)
        assert bits(sampler.generate(varied(9), KEY)) == bits(learner.generate(varied(9), KEY))
        give_weights(wire_to(server.address), tmp_path / "insider", "0", change)
        with pytest.raises(
            StaleWeights, match=rf"{server.address} wrote an answer with weights of digest .*version 0,"
        ):
            sampler.generate(varied(9), KEY)
        sampler.close()


@pytest.mark.slow
def test_the_same_weights_again_and_those_of_older_versions_are_the_runs_own(tmp_path: Path) -> None:
    """What was asked for before a publish and comes after it is read under the version that wrote it."""
    learner = learner_of()
    with serving(served_engine()) as server:
        sampler = published(server, learner, tmp_path)
        sampler.sampler.max_age = 1
        sampler.receive(learner.tensors(merged=True), 0)
        give_weights(wire_to(server.address), tmp_path / "same", "0", lambda tensor: tensor)
        wanted = bits(learner.generate(varied(9), KEY))
        ticket = sampler.submit(varied(9), KEY)
        while not ticket.ready:
            pass
        with torch.no_grad():
            for tensor in learner.model.parameters():
                tensor.mul_(1.01)
        learner.load({**learner.view(), "version": 1})
        sampler.receive(learner.tensors(merged=True), 1)
        assert bits(ticket.wait()) == wanted
        assert bits(sampler.generate(varied(9), KEY)) == bits(learner.generate(varied(9), KEY))
        sampler.close()


@settings(max_examples=20)
@given(st.dictionaries(st.text(max_size=4), st.integers(0, 9).map(str), max_size=5), st.randoms())
def test_a_digest_is_that_of_names_and_checksums_in_any_order(sums: dict[str, str], random: Any) -> None:
    other = list(sums.items())
    random.shuffle(other)
    assert digest_of(dict(other)) == digest_of(sums)
    for name in sums:
        assert digest_of({**sums, name: sums[name] + "0"}) != digest_of(sums)
        assert digest_of({key: value for key, value in sums.items() if key != name}) != digest_of(sums)


def test_a_server_computes_the_digest_over_what_it_holds(tmp_path: Path) -> None:
    learner = learner_of()
    with serving(served_engine()) as server:
        sampler = published(server, learner, tmp_path)
        assert server.served.digest == ""
        sampler.receive(learner.tensors(merged=True), 0)
        wanted = {name: checksum(tensor) for name, tensor in learner.tensors(merged=True)}
        assert server.served.digest == digest_of(wanted)
        wire_to(server.address).json("POST", "/start_weight_update", {"assay": {"run": RUN}}, seconds=5.0)
        assert server.served.digest == "", "whoever takes weights has none until they are whole"
        sampler.close()


@pytest.mark.slow
@pytest.mark.parametrize("ready", [False, True])
def test_a_server_whose_answers_have_no_digest_is_asked_what_it_holds(
    ready: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As vLLM: what it tells is another after each update, also after one that puts the old weights back."""
    learner, held = learner_of(), ["1:a"]
    monkeypatch.setattr(AssaySite, "held", lambda self, *, seconds: held[0])
    with serving(served_engine()) as server:
        sampler = published(server, learner, tmp_path)
        sampler.receive(learner.tensors(merged=True), 0)
        assert len(sampler.generate(varied(3), KEY)) == 3
        ticket = sampler.submit(varied(3), KEY)
        while ready and not ticket.ready:
            pass
        held[0] = "2:a"
        for _ in range(2):  # whoever waits again is told again
            with pytest.raises(StaleWeights, match=f"{server.address} holds weights that this run has not published"):
                ticket.wait()
        sampler.close()


def test_a_server_that_ends_after_it_has_answered_accuses_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, ended = learner_of(), threading.Event()

    def held(self: AssaySite, *, seconds: float) -> str:
        if ended.is_set():
            raise Gone("nobody is there")
        return "1:a"

    monkeypatch.setattr(AssaySite, "held", held)
    with serving(served_engine()) as server:
        sampler = published(server, learner, tmp_path)
        sampler.receive(learner.tensors(merged=True), 0)
        ended.set()
        assert bits(sampler.generate(varied(3), KEY)) == bits(learner.generate(varied(3), KEY))
        sampler.close()


# What the learner computes itself


class Elsewhere:
    """An engine whose answers another process wrote."""

    def __init__(self, engine: LocalEngine, *, exact: bool = True, named: str = "the sampler at http://10.0.0.5:8000"):
        self.engine, self.exact, self.named = engine, exact, named

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def writers(self, requests: Sequence[str]) -> str:
        return self.named and f"{self.named} {list(requests)}"


def trained(engine: Any, learner: LocalEngine, *, ulps: int, **changes: Any) -> float:
    """The loss of three rows with the learner's own log-probs, but for one token of the second row."""
    contexts, answers = rows_of([5, 3, 4])
    spans = [Span(context, ids) for context, ids in zip(contexts, answers, strict=True)]
    sampled = np.concatenate([one.logp for one in learner.score(spans)])
    sampled[6] += np.float32(ulps) * np.spacing(sampled[6])
    values = {"sampled": sampled, "version": np.full(len(sampled), learner.version, np.int32), **changes}
    batch, weight = batch_of(contexts, answers, **values), np.ones(len(sampled), np.float32)
    objective = Objective(ratio=NoRatio(), gate=Open())
    return accumulate(engine, batch, weight, objective, 10_000, version=learner.version)


def test_one_bit_of_difference_on_an_exact_engine_is_an_error_that_names_the_server() -> None:
    learner = learner_of()
    trained(Elsewhere(learner), learner, ulps=0)
    words = r"the sampler at http://10\.0\.0\.5:8000 \['1'\] wrote 1 answers whose log-probs differ .*of version 0"
    for ulps in (1, -1, 1000):
        with pytest.raises(EndpointError, match=words):
            trained(Elsewhere(learner), learner, ulps=ulps)


@pytest.mark.parametrize(
    ("how", "changes"),
    [
        ({"exact": False}, {}),
        ({"named": ""}, {}),
        ({}, {"version": np.full(12, -1, np.int32)}),
        ({}, {"version": None}),
        ({}, {"origin": np.eye(12, dtype=np.int8)[6] * np.int8(Origin.ENV)}),
        ({}, {"mask": np.arange(12) != 6}),
    ],
    ids=["engine that rounds", "own process", "older weights", "no version", "other's token", "no training"],
)
def test_where_bits_may_differ_nobody_is_accused(how: dict[str, Any], changes: dict[str, Any]) -> None:
    learner = learner_of()
    trained(Elsewhere(learner, **how), learner, ulps=1000, **changes)


def test_a_pair_names_the_servers_that_wrote(tmp_path: Path) -> None:
    learner = learner_of()
    with serving(served_engine()) as server:
        sampler = published(server, learner, tmp_path)
        about = {"context": learner.context, "vocab": learner.vocab, "end_ids": learner.end_ids}
        pair = Paired(learner, lambda: [sampler], **about)
        assert learner.writers(["a"]) == "" and pair.writers(["a"]) == ""
        asked = varied(3)
        pair.generate(asked, KEY)
        assert pair.writers(["what nobody asked for"]) == ""
        assert pair.exact and pair.writers([asked[0].id]) == f"the sampler at {server.address}"
        sampler.close()
