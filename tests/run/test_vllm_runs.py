"""Runs whose answers vLLM writes: they train, resume, give their servers back, and are refused where it cannot be."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import below, command_of, gone
from small_runs import GRADED, Shell, steps_of, train_line
from torch import Tensor
from vllm_place import PYTHON, model_of, require_vllm

from assay.engine.remote.servers.start import Server
from assay.engine.remote.servers.vllm import Vllm, VllmSite, start_vllm
from assay.engine.remote.weights.publish import Published
from assay.record.folder import RunFolder

SECRET = "a-secret-of-tests-0123456789"
VLLM = ("--machine.sampler", "vllm", "--machine.precision", "fp32", "--machine.cache-mb", "64")
OURS = (*VLLM, "--machine.sampler-python", PYTHON)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_SAMPLER_SECRET", SECRET)  # of servers that are given by address


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_of(tmp_path_factory.mktemp("model"))


@pytest.fixture
def graded(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "graded.py").write_text(GRADED)
    return ("--reward", f"{tmp_path / 'graded.py'}:graded")


@pytest.fixture(scope="module")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    require_vllm()
    log = tmp_path_factory.mktemp("server") / "log"
    with start_vllm(Vllm(PYTHON, model, 64, "fp32", rows=16, cache_mb=64, secret=SECRET), log=log) as started:
        yield started


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--machine.sampler", "vllm"), "machine.samplers is empty"),
        (("--machine.sampler", "vllm", "--machine.samplers", "1"), "set machine.sampler-python"),
        (("--machine.sampler-python", "/x/python", "--machine.samplers", "1"), "no vLLM server is started"),
        (
            ("--machine.sampler-tensor", "2", "--machine.samplers", "1"),
            "machine.sampler-tensor is 2, and no vLLM server",
        ),
        (("--machine.sampler-tensor", "0"), "machine.sampler_tensor must be at least 1"),
        (
            ("--machine.sampler-python", "/x/python", "--machine.sampler", "vllm", "--machine.samplers", "http://h:1"),
            "no vLLM server is started",
        ),
    ],
)
def test_settings_of_vllm_that_cannot_be_meant_are_refused(
    shell: Shell, model: Path, tmp_path: Path, more: tuple[str, ...], words: str
) -> None:
    ended = shell(*train_line(model, tmp_path / "run", *more))
    assert ended.code == 78 and words in ended.err, ended
    assert not (tmp_path / "run").exists()


def test_an_interpreter_without_vllm_is_refused(shell: Shell, model: Path, tmp_path: Path) -> None:
    more = ("--machine.sampler", "vllm", "--machine.samplers", "1", "--machine.sampler-python", "/no/such/python")
    ended = shell(*train_line(model, tmp_path / "run", *more))
    assert ended.code == 78 and "machine.sampler-python is /no/such/python, which cannot be run" in ended.err


@pytest.mark.scale
def test_a_server_that_runs_already_trains_two_runs_one_after_the_other_and_stays(
    shell: Shell, model: Path, tmp_path: Path, graded: tuple[str, ...], server: Server
) -> None:
    given = (*VLLM, "--machine.samplers", server.address, *graded)
    for name in ("first", "second"):
        ended = shell(*train_line(model, tmp_path / name, *given, "--saving.rollouts-every", "1"))
        assert ended.code == 0, ended.err
        metrics = RunFolder.read_only(tmp_path / name).read("metrics")
        assert [record["step"] for record in metrics] == [1, 2, 3, 4]
        assert all(record["samplers/probe_gap"] < 1e-4 and record["samplers/discarded"] == 0 for record in metrics)
        assert max(record["samplers/probe_gap"] for record in metrics) > 0, "vLLM has other sums than the learner"
    site = VllmSite(server.address, SECRET)
    assert site.wire.json("GET", "/is_paused", seconds=5.0) == {"is_paused": False}
    site.claim("another run", seconds=5.0)
    refused = shell(*train_line(model, tmp_path / "third", *given))
    assert refused.code == 78 and "is used by the run another run" in refused.err
    site.release("another run", seconds=5.0)


@pytest.mark.scale
def test_a_server_of_another_context_is_refused(shell: Shell, tmp_path: Path, server: Server) -> None:
    model = model_of(tmp_path / "model", context=128)
    ended = shell(*train_line(model, tmp_path / "run", *VLLM, "--machine.samplers", server.address))
    assert ended.code == 78 and "has a context of 64 tokens, and this run needs 128" in ended.err


@pytest.mark.scale
def test_servers_of_a_run_are_replaced_and_gone_afterwards(
    shell: Shell, model: Path, tmp_path: Path, graded: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two learners, two servers, lag 1; one server is killed before the publish of version 2, with all its processes.

    Then the run is resumed with one learner and one server more steps.
    """
    require_vllm()
    plain, seen, killed, others = Published.receive, set[int](), [], set(below(os.getpid()))

    def receive(self: Published, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        seen.update(set(below(os.getpid())) - others)
        if version == 2 and not killed:
            port = self.sampler.sites[0].wire.address.rpartition(":")[2]
            heads = [pid for pid in seen if f" --port {port} " in command_of(pid)]
            killed.extend({*heads, *(pid for head in heads for pid in below(head))})
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
        plain(self, weights, version)

    monkeypatch.setattr(Published, "receive", receive)
    ahead = ("--mechanism.collect", "ahead", "--mechanism.collect.0.lag", "1")
    line = train_line(model, tmp_path / "run", *OURS, *graded, *ahead, "--machine.samplers", "2")
    ended = shell(*line, "--machine.learners", "2", "--machine.deadline", "120")
    assert ended.code == 0, ended.err
    assert killed and "another one takes its place" in ended.err and steps_of(tmp_path / "run") == [1, 2, 3, 4]
    ages = [record.get("age/max", 0) for record in RunFolder.read_only(tmp_path / "run").read("metrics")]
    assert ages == [0, 1, 1, 1]
    assert len(seen) > 8 and all(gone(pid, within=15.0) for pid in seen)
    assert not (tmp_path / "run" / "weights").exists()


@pytest.mark.scale
def test_an_adapter_trains_with_answers_of_vllm(
    shell: Shell, model: Path, tmp_path: Path, graded: tuple[str, ...]
) -> None:
    require_vllm()
    ended = shell(*train_line(model, tmp_path / "run", *OURS, *graded, "--lora", "4", "--machine.samplers", "1"))
    assert ended.code == 0, ended.err
    metrics = RunFolder.read_only(tmp_path / "run").read("metrics")
    assert [record["step"] for record in metrics] == [1, 2, 3, 4]
    assert all(0 < record["samplers/probe_gap"] < 1e-4 for record in metrics)


@pytest.mark.scale
def test_a_killed_run_goes_on_where_it_was(
    shell: Shell, model: Path, tmp_path: Path, graded: tuple[str, ...], server: Server, monkeypatch: Any
) -> None:
    given = (*VLLM, "--machine.samplers", server.address, *graded)
    plain = Published.receive

    class Killed(BaseException):
        """Stands for the end of the process: nothing may clean up the step."""

    def receive(self: Published, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        if version == 2:
            raise Killed
        plain(self, weights, version)

    monkeypatch.setattr(Published, "receive", receive)
    with pytest.raises(Killed):
        shell(*train_line(model, tmp_path / "run", *given))
    monkeypatch.setattr(Published, "receive", plain)
    assert VllmSite(server.address, SECRET).wire.json("GET", "/is_paused", seconds=5.0) == {"is_paused": False}
    ended = shell("resume", str(tmp_path / "run"))
    assert ended.code == 0, ended.err
    assert steps_of(tmp_path / "run") == [1, 2, 3, 4]
    metrics = RunFolder.read_only(tmp_path / "run").read("metrics")
    assert all(record["samplers/discarded"] == 0 for record in metrics)


@pytest.mark.scale
def test_a_model_that_vllm_cannot_compute_ends_the_run_with_its_own_words(
    shell: Shell, tmp_path: Path, graded: tuple[str, ...]
) -> None:
    """Once: a server that dies of its first question would die again."""
    require_vllm()
    model = model_of(tmp_path / "model", head=8)
    ended = shell(*train_line(model, tmp_path / "run", *OURS, *graded, "--machine.samplers", "1"))
    assert ended.code == 69 and "head_dim=8" in ended.err and "samplers/0.log says: RuntimeError" in ended.err
    assert ended.err.count("1 samplers are started") == 1
