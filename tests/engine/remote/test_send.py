"""Weights by process groups of torch: bytes that come as they were, and servers that are gone, asleep or refuse."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from serving import QUICK, expected_of, own, served_engine, serving, site_of, started
from vllm_cases import engine_of, policy_of

from assay.engine.local import LocalEngine
from assay.engine.remote.inside_vllm.assay_group import ALIGNED, described, packed, places, unpacked
from assay.engine.remote.sampler import RemoteSampler
from assay.engine.remote.servers.own import AssaySite
from assay.engine.remote.transport.couriers import Patience
from assay.engine.remote.weights import publish
from assay.engine.remote.weights.publish import Published
from assay.engine.remote.weights.receive import Receiver
from assay.engine.remote.weights.send import Carrier, Files, Network
from assay.errors import DataError, EndpointError
from assay.policy import save_policy

DTYPES = (torch.float32, torch.bfloat16, torch.float64, torch.int8, torch.bool)


@given(st.lists(st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 5), max_size=3)), max_size=6), st.data())
def test_bytes_of_a_bucket_are_its_tensors(shapes: list[tuple[torch.dtype, list[int]]], data: st.DataObject) -> None:
    draw = torch.Generator().manual_seed(data.draw(st.integers(0, 99)))
    bucket = {
        f"tensor {i}": torch.randint(0, 2, shape, generator=draw).to(dtype) for i, (dtype, shape) in enumerate(shapes)
    }
    told, whole = described(bucket), packed(bucket)
    assert len(whole) == places(told)[-1] <= sum(t.nbytes + ALIGNED - 1 for t in bucket.values())
    found = unpacked(told, whole)
    assert list(found) == list(bucket)
    for name, tensor in bucket.items():
        assert found[name].dtype == tensor.dtype and torch.equal(found[name], tensor)


def published(sites: list[AssaySite], learner: LocalEngine, carrier: Carrier) -> Published:
    remote = RemoteSampler(sites, expected_of(learner), run="r", patience=QUICK)
    return Published(remote, learner, carrier, tolerance=1e-4)


@pytest.mark.slow
def test_a_server_that_refuses_a_bucket_is_published_to_again_through_another_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain, left = Receiver.take, [True]

    def take(self: Receiver, name: str, first: int, rows: Any) -> None:
        if left.pop() if left else False:
            raise DataError("the disk is full")
        plain(self, name, first, rows)

    learner = served_engine(seed=3)
    with serving(served_engine(seed=4)) as server:
        carrier = Network("gloo")
        sampler = published(own(server), learner, carrier)
        groups: list[str] = []
        join = AssaySite.join

        def joined(self: AssaySite, told: Mapping[str, Any], run: str, *, seconds: float) -> None:
            groups.append(told["name"])
            join(self, told, run, seconds=seconds)

        monkeypatch.setattr(AssaySite, "join", joined)
        monkeypatch.setattr(Receiver, "take", take)
        sampler.receive(learner.tensors(), 1)
        assert sampler.gap < 1e-5 and groups == ["server 1", "server 2"]
        sampler.close()


@pytest.mark.slow
def test_a_server_that_was_sent_weights_by_network_takes_files_of_another_run(tmp_path: Path) -> None:
    learner = served_engine(seed=3)
    with serving(served_engine(seed=4)) as server:
        for carrier in (Network("gloo"), Files(tmp_path), Network("gloo")):
            sampler = published(own(server), learner, carrier)
            sampler.receive(learner.tensors(), 1)
            assert sampler.gap < 1e-5
            sampler.close()


@pytest.mark.slow
def test_a_server_that_does_not_join_is_named_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = served_engine(seed=3)
    with serving(served_engine(seed=4)) as server:
        monkeypatch.setattr(AssaySite, "join", lambda self, told, run, *, seconds: None)
        sampler, began = published(own(server), learner, Network("gloo", join=0.5)), time.monotonic()
        with pytest.raises(EndpointError, match=f"{server.address} has not joined its group"):
            sampler.receive(learner.tensors(), 1)
        assert time.monotonic() - began < 20
        sampler.close()


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "order", ["take", *(pytest.param(one, marks=pytest.mark.deep) for one in ("begin", "commit", "checksums", "score"))]
)
def test_a_server_that_is_stopped_while_it_takes_weights_is_named_within_the_runs_deadline(
    order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it was told last: the orders themselves may take ten minutes."""
    policy = policy_of()
    save_policy(policy, tmp_path / "model")
    learner = engine_of(policy)
    with started(tmp_path / "model", "--precision", "fp32", "--engine", "torch") as (address, process):
        patience = Patience(answer=60.0, silence=2.0)
        remote = RemoteSampler([site_of(address)], expected_of(learner, learner.decode), run="r", patience=patience)
        sampler = Published(remote, learner, Files(tmp_path / "weights"), tolerance=1e-3)
        plain = getattr(AssaySite, order)

        def stopping(self: AssaySite, *given: Any, **more: Any) -> Any:
            os.kill(process.pid, signal.SIGSTOP)
            return plain(self, *given, **more)

        monkeypatch.setattr(AssaySite, order, stopping)
        began = time.monotonic()
        with pytest.raises(EndpointError, match=f"{address} did not answer within 2 s|no sampler is left"):
            sampler.receive(learner.tensors(), 1)
        assert time.monotonic() - began < 60
        os.kill(process.pid, signal.SIGCONT)
        sampler.close()


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_dies_or_falls_asleep_in_the_middle_of_a_bucket_is_named_and_the_other_goes_on(
    how: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = policy_of()
    save_policy(policy, tmp_path / "model")
    learner = engine_of(policy)
    monkeypatch.setattr(publish, "SECONDS", 3.0)
    command = (tmp_path / "model", "--precision", "fp32")
    with started(*command) as hurt, started(*command) as well:
        take, process = AssaySite.take, hurt[1]

        def taking(self: AssaySite, told: Mapping[str, Any], run: str, *, seconds: float) -> None:
            if self.wire.address == hurt[0]:
                os.kill(process.pid, how)
            take(self, told, run, seconds=seconds)

        sites = [site_of(hurt[0]), site_of(well[0])]
        remote = RemoteSampler(sites, expected_of(learner, learner.decode), run="r", patience=QUICK)
        sampler = Published(remote, learner, Network("gloo", join=5.0), tolerance=1e-3)
        monkeypatch.setattr(AssaySite, "take", taking)
        began = time.monotonic()
        try:
            sampler.receive(learner.tensors(), 1)
            assert set(sampler.sampler.lost) == {0} and hurt[0] in sampler.sampler.lost[0]
            assert time.monotonic() - began < 60
            sampler.receive(learner.tensors(), 2)
            assert sampler.version == 2 and sampler.gap < 1e-3
        finally:
            if process.poll() is None:
                os.kill(process.pid, signal.SIGCONT)
            sampler.close()
