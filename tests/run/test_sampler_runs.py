"""Runs whose answers servers write: they end with the bits of a run in one process, also where a server is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from processes import gone
from small_runs import GRADED, Shell, came_to, make_model, steps_of, train_line
from torch import Tensor

from assay.engine.interface import Done
from assay.engine.remote.sampler import RemoteSampler
from assay.engine.remote.servers.own import start_own
from assay.engine.remote.transport.secret import fresh_secret
from assay.engine.remote.weights.publish import Published
from assay.policy.safetensors_folder import write_weights
from assay.record.folder import RunFolder
from assay.rng import Key
from assay.types import Request

pytestmark = [pytest.mark.slow, pytest.mark.turns(2)]
FP32 = ("--machine.precision", "fp32", "--machine.deadline", "60")


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def told(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "graded.py").write_text(GRADED)
    return (*FP32, "--reward", f"{tmp_path / 'graded.py'}:graded")


@pytest.fixture
def pids(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes of the servers that runs of this test have asked."""
    known: list[int] = []
    plain = RemoteSampler.admit

    def admit(self: RemoteSampler, site: Any) -> None:
        known.append(int(site.facts()["pid"]))
        plain(self, site)

    monkeypatch.setattr(RemoteSampler, "admit", admit)
    return known


def alike(one: Path, other: Path) -> None:
    step, files, metrics, exams = came_to(one)
    again, found, measured, examined = came_to(other)
    assert (step, metrics, exams) == (again, measured, examined)
    assert files.keys() == found.keys() and all(found[name] == content for name, content in files.items())


@pytest.mark.turns(2)
@pytest.mark.core
@pytest.mark.parametrize("recipe", ["grpo", "ppo"])
def test_a_run_over_servers_ends_with_the_bits_of_a_run_in_one_process(
    shell: Shell, model: Path, tmp_path: Path, told: tuple[str, ...], recipe: str, pids: list[int]
) -> None:
    sizes = {"scale_num_prompts": 4, "scale_group_size": 4}
    two = ("--machine.samplers", "2")
    for name, more in (("here", ()), ("there", two), ("by network", (*two, "--machine.publish", "gloo"))):
        line = train_line(model, tmp_path / name, *told, "--machine.engine", "native", *more, recipe=recipe, **sizes)
        ended = shell(*line)
        assert ended.code == 0, ended.err
    alike(tmp_path / "here", tmp_path / "there")
    alike(tmp_path / "here", tmp_path / "by network")
    assert len(set(pids)) == 4 and all(gone(pid, within=15.0) for pid in pids)
    assert not list((tmp_path / "there").glob("weights*"))


@pytest.mark.core
def test_an_adapter_trains_over_servers_as_in_one_process_and_goes_on_from_its_folder(
    shell: Shell, model: Path, tmp_path: Path, told: tuple[str, ...]
) -> None:
    core = (*told, "--machine.engine", "native")
    for name, more in (("here", ()), ("there", ("--machine.samplers", "1"))):
        ended = shell(*train_line(model, tmp_path / name, *core, "--lora", "4", *more))
        assert ended.code == 0, ended.err
    alike(tmp_path / "here", tmp_path / "there")
    adapter = tmp_path / "adapter"
    assert shell("export", tmp_path / "there", adapter).code == 0
    for name, more in (("on", ()), ("on there", ("--machine.samplers", "1"))):
        ended = shell(*train_line(adapter, tmp_path / name, *core, *more))
        assert ended.code == 0, ended.err
    alike(tmp_path / "on", tmp_path / "on there")


def test_two_learners_of_an_adapter_train_with_a_server(
    shell: Shell, model: Path, tmp_path: Path, told: tuple[str, ...]
) -> None:
    more = ("--lora", "4", "--machine.learners", "2", "--machine.samplers", "1")
    ended = shell(*train_line(model, tmp_path / "run", *told, *more))
    assert ended.code == 0, ended.err
    metrics = RunFolder.read_only(tmp_path / "run").read("metrics")
    assert [record["step"] for record in metrics] == [1, 2, 3, 4]
    assert all(record["samplers/probe_gap"] < 1e-4 and record["samplers/discarded"] == 0 for record in metrics)


@pytest.mark.turns(2)
@pytest.mark.parametrize("lag", [1, 2])
def test_answers_that_are_asked_for_ahead_are_those_of_a_run_in_one_process(
    shell: Shell, model: Path, tmp_path: Path, told: tuple[str, ...], lag: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server is killed while the answers of step 2 are in the air. A lag of 2 over two servers is two pools of one
    server each: there nobody is left to write them, and the run begins again from its last checkpoint.
    """
    ahead = ("--mechanism.collect", "ahead", "--mechanism.collect.0.lag", str(lag))
    calm = shell(*train_line(model, tmp_path / "calm", *told, *ahead))
    assert calm.code == 0, calm.err
    pids: dict[str, int] = {}
    admit, submit = RemoteSampler.admit, RemoteSampler.submit

    def admitted(self: RemoteSampler, site: Any) -> None:
        pids[site.wire.address] = int(site.facts()["pid"])
        admit(self, site)

    def submitted(self: RemoteSampler, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> Any:
        ticket = submit(self, requests, key, done=done)
        if requests[0].group.startswith("2:") and len(pids) == 2:
            os.kill(pids[self.sites[0].wire.address], signal.SIGKILL)
        return ticket

    monkeypatch.setattr(RemoteSampler, "admit", admitted)
    monkeypatch.setattr(RemoteSampler, "submit", submitted)
    hurt = shell(*train_line(model, tmp_path / "hurt", *told, *ahead, "--machine.samplers", "2"))
    assert hurt.code == 0, hurt.err
    alike(tmp_path / "calm", tmp_path / "hurt")
    said = {1: "another one takes its place", 2: "no sampler is left of 1"}[lag]
    assert hurt.err.count(said) == 1, hurt.err


def test_a_server_that_is_lost_is_replaced_and_the_run_ends_with_the_same_bits(
    shell: Shell,
    model: Path,
    tmp_path: Path,
    told: tuple[str, ...],
    pids: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is killed in the middle of the publish of version 2."""
    calm = shell(*train_line(model, tmp_path / "calm", *told))
    assert calm.code == 0, calm.err
    plain = Published.receive

    def receive(self: Published, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        if version == 2 and len(pids) == 2:
            os.kill(pids[0], signal.SIGKILL)
        plain(self, weights, version)

    monkeypatch.setattr(Published, "receive", receive)
    hurt = shell(*train_line(model, tmp_path / "hurt", *told, "--machine.samplers", "2"))
    assert hurt.code == 0, hurt.err
    assert "warning: sampler 0 was lost" in hurt.err and len(pids) == 3
    alike(tmp_path / "calm", tmp_path / "hurt")


@pytest.mark.core
def test_a_foreign_process_that_changes_a_servers_weights_under_the_same_version_ends_the_run(
    shell: Shell, model: Path, tmp_path: Path, told: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows what only the run and its server know, and does after a publish what the run does at one."""
    plain = Published.receive

    def receive(self: Published, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        plain(self, weights, version)
        if version != 2:
            return
        (site,) = self.sampler.sites
        theirs = {name: tensor * 1.5 for name, tensor in self.source.tensors(merged=True)}
        (tmp_path / "theirs").mkdir()
        write_weights(tmp_path / "theirs", theirs, max_shard_bytes=10**9)
        site.begin(self.sampler.run, seconds=60.0)
        site.take({"folder": str(tmp_path / "theirs")}, self.sampler.run, seconds=60.0)
        site.commit("2", self.sampler.run, seconds=60.0)

    monkeypatch.setattr(Published, "receive", receive)
    line = train_line(model, tmp_path / "run", *told, "--machine.engine", "native", "--machine.samplers", "1")
    ended = shell(*line)
    assert ended.code == 69 and "has given it weights" in ended.err and "the sampler at http://127.0.0.1:" in ended.err
    assert steps_of(tmp_path / "run") == [1, 2]
    monkeypatch.setattr(Published, "receive", plain)
    assert shell("resume", tmp_path / "run").code == 0 and steps_of(tmp_path / "run") == [1, 2, 3, 4]
    metrics = RunFolder.read_only(tmp_path / "run").read("metrics")
    assert {one["policy/sampler_mismatch_max"] for one in metrics if "policy/sampler_mismatch_max" in one} == {0.0}


def test_servers_given_by_address_are_used_and_left_running(
    shell: Shell, model: Path, tmp_path: Path, told: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run knows their secret from its environment, and asks for it by name where it does not."""
    secret, options = fresh_secret(), {"precision": "fp32", "threads": 1}
    with start_own(str(model), secret=secret, log=tmp_path / "log", options=options) as server:
        ended = shell(*train_line(model, tmp_path / "none", *told, "--machine.samplers", server.address))
        assert (
            ended.code == 78
            and f"the samplers at {server.address} ask for a secret" in ended.err
            and "ASSAY_SAMPLER_SECRET" in ended.err
        )
        monkeypatch.setenv("ASSAY_SAMPLER_SECRET", fresh_secret())
        ended = shell(*train_line(model, tmp_path / "other", *told, "--machine.samplers", server.address))
        assert ended.code == 78 and f"the sampler at {server.address} does not know this run's secret" in ended.err
        monkeypatch.setenv("ASSAY_SAMPLER_SECRET", secret)
        for name in ("first", "second"):
            line = train_line(model, tmp_path / name, *told, "--machine.samplers", server.address)
            ended = shell(*line)
            assert ended.code == 0 and not server.gone, ended.err
        alike(tmp_path / "first", tmp_path / "second")
        line = train_line(model, tmp_path / "third", *told, "--machine.samplers", f"{server.address},{server.address}")
        assert "machine.samplers names a server twice" in shell(*line).err


def test_a_run_is_resumed_with_servers_and_without(
    shell: Shell, model: Path, tmp_path: Path, told: tuple[str, ...]
) -> None:
    assert shell(*train_line(model, tmp_path / "whole", *told)).code == 0
    line = train_line(model, tmp_path / "parts", *told, "--machine.samplers", "1")
    line[line.index("--steps") + 1] = "2"
    assert shell(*line).code == 0
    ended = shell("resume", tmp_path / "parts", "--steps", 4)
    assert ended.code == 0 and steps_of(tmp_path / "parts") == [1, 2, 3, 4], ended.err
    weights = [came_to(tmp_path / name)[1]["policy/model.safetensors"] for name in ("whole", "parts")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--machine.samplers", "0"), "machine.samplers is '0': write how many servers are started, 1 to 64, or the"),
        (("--machine.samplers", "65"), "machine.samplers is '65'"),
        (("--machine.samplers", "localhost:80"), "addresses of servers that run, http://HOST:PORT"),
        (("--machine.samplers", "http://host"), "machine.samplers is 'http://host'"),
        (("--machine.samplers", "http://127.0.0.1:9"), "127.0.0.1:9"),
        (("--machine.publish", "gloo"), "no server takes weights: leave it out, or set machine.samplers"),
        (("--machine.publish", "nccl", "--machine.samplers", "1"), "computes on a processor: take gloo"),
        (("--machine.publish", "rdma", "--machine.samplers", "1"), "files, gloo, nccl"),
    ],
)
def test_samplers_that_cannot_be_are_refused(
    shell: Shell, model: Path, tmp_path: Path, given: tuple[str, ...], said: str
) -> None:
    refused = shell(*train_line(model, tmp_path / "run", *given))
    assert refused.code in (69, 78) and said in refused.err, refused.err
