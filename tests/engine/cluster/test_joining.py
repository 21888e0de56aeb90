"""What is refused before Ray is asked, and what a run says of a cluster; none of it needs Ray."""

from __future__ import annotations

import dataclasses
import functools
import socket
from pathlib import Path
from typing import Any

import pytest
from ray_clusters import pretend_ray
from small_runs import Shell, make_model, train_line

from assay.engine.cluster import joining
from assay.engine.cluster.launcher import Here, Needs
from assay.errors import ConfigError, EndpointError
from assay.run.experiment import Machine, check_cluster, check_learners

TWO = Machine(learners=2)


@pytest.fixture
def ray_is(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Says whether the package ray is there, whatever is installed."""
    return functools.partial(pretend_ray, monkeypatch)


@pytest.mark.parametrize(
    "place", ["ray://10.0.0.4", "10.0.0.4", "10.0.0.4:port", ":6379", "10.0.0.4:0", "AUTO", "a/b:1"]
)
def test_an_address_that_is_none_is_refused(place: str, ray_is: Any) -> None:
    ray_is(True)
    with pytest.raises(ConfigError, match=r"machine.cluster is .*write auto, or the HOST:PORT"):
        check_cluster(dataclasses.replace(TWO, cluster=place))


@pytest.mark.parametrize("place", ["auto", "10.0.0.4:6379", "head:1"])
def test_an_address_that_is_one_is_taken(place: str, ray_is: Any) -> None:
    ray_is(True)
    check_cluster(dataclasses.replace(TWO, cluster=place))


@pytest.mark.parametrize("samplers", ["", "http://10.0.0.5:8000"])
def test_a_cluster_in_which_nothing_would_run_is_refused(samplers: str, ray_is: Any) -> None:
    ray_is(True)
    with pytest.raises(ConfigError, match="nothing would run there"):
        check_cluster(Machine(cluster="auto", samplers=samplers))
    check_cluster(Machine(cluster="auto", samplers="2"))


def test_vllm_is_started_on_nodes_or_used_where_it_is(ray_is: Any) -> None:
    ray_is(True)
    check_cluster(Machine(cluster="auto", samplers="2", sampler="vllm", sampler_python="/x/python"))
    check_cluster(Machine(learners=2, cluster="auto", samplers="http://10.0.0.5:8000", sampler="vllm"))


def test_without_ray_a_run_is_refused_by_the_name_of_the_extra(
    tmp_path: Path, ray_is: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ray_is(False)
    model = make_model(tmp_path / "model")
    more = ("--machine.learners", "2", "--machine.cluster", "auto")
    ended = Shell(capsys)(*train_line(model, tmp_path / "run", *more))
    assert ended.code == 78 and "pip install 'assay-rl[scale]'" in ended.err and not (tmp_path / "run").exists()


def test_more_learners_than_this_machine_has_devices_are_the_clusters_to_refuse(ray_is: Any) -> None:
    ray_is(True)
    check_learners(Machine(learners=4096, cluster="10.0.0.4:6379"))
    with pytest.raises(ConfigError, match=r"machine\.learners is 4096"):
        check_learners(Machine(learners=4096))


def test_the_cluster_that_auto_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the environment, else one that was started here and answers, else a new one."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as head:
        living = f"127.0.0.1:{head.getsockname()[1]}"
        assert joining.found("10.0.0.4:6379", lambda: living) == "10.0.0.4:6379"
        assert joining.found("auto", lambda: living) == living
        joining.require_listening(living)
        monkeypatch.setenv("RAY_ADDRESS", "10.0.0.9:6379")
        assert joining.found("auto", lambda: living) == "10.0.0.9:6379"
        monkeypatch.setenv("RAY_ADDRESS", "local")
        assert joining.found("auto", lambda: living) == ""
    monkeypatch.delenv("RAY_ADDRESS")
    assert joining.found("auto", lambda: living) == "" and joining.found("auto", lambda: "") == ""
    with pytest.raises(EndpointError, match=f"no Ray cluster answers at {living}: start one"):
        joining.require_listening(living)


def test_a_full_shared_memory_and_another_node_are_refused() -> None:
    joining.require_shared_memory(joining.STORE)
    with pytest.raises(EndpointError, match=r"takes 80 MiB of /dev/shm, where 79 MiB are free"):
        joining.require_shared_memory(joining.STORE - 1)
    here = joining.versions()
    joining.require_versions("10.0.0.5", here)
    for name in here:
        with pytest.raises(ConfigError, match=rf"node 10.0.0.5 .* has {name} 0.1, and this one .*: install the same"):
            joining.require_versions("10.0.0.5", {**here, name: "0.1"})


def test_needs_in_words_and_processes_of_this_machine() -> None:
    assert (str(Needs(cpus=4, gpus=1)), str(Needs())) == ("4 CPU and 1 GPU", "1 CPU")
    started = []

    class Fake:
        line, gone = None, False

        def __init__(self, program: str) -> None:
            started.append(program)

        def ending(self) -> str:
            return "ended"

        def close(self, *, now: bool = False) -> None:
            started.append(f"closed {now}")

    first, second = Here(Fake).start("module:function", 2, Needs(cpus=1))  # type: ignore[arg-type]
    assert (first.host, first.where, second.gone, second.ending()) == ("127.0.0.1", "", False, "ended")
    first.close(now=True)
    assert started == ["module:function", "module:function", "closed True"]
