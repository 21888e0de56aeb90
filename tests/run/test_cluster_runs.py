"""Runs whose processes lie in a Ray cluster: the bits of one machine, also after a node or the whole cluster died."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from processes import below
from ray_clusters import all_gone, cluster_of, kill_node
from small_runs import GRADED, Shell, came_to, make_model, steps_of, train_line
from torch import Tensor
from vllm_place import PYTHON, model_of, require_vllm

from assay.engine.cluster.launcher import Placed
from assay.engine.remote.weights.publish import Published
from assay.engine.sharded.engine import ShardedLearner
from assay.record.folder import RunFolder

pytestmark = pytest.mark.scale
TWO = ("--machine.learners", "2", "--machine.precision", "fp32", "--machine.deadline", "60")


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    path = tmp_path_factory.mktemp("reward") / "graded.py"
    path.write_text(GRADED)
    return ("--reward", f"{path}:graded")


@pytest.fixture(scope="module")
def calm(model: Path, graded: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What two learners come to as processes of this machine."""
    from assay.cli.main import main

    run = tmp_path_factory.mktemp("calm") / "run"
    assert main(train_line(model, run, *TWO, *graded)) == 0
    return came_to(run)


def after(patch: pytest.MonkeyPatch, version: int, harm: Callable[[ShardedLearner], object]) -> None:
    """Does harm once, in the optimiser step that follows a version."""
    plain, left = ShardedLearner.step, [True]

    def step(self: ShardedLearner, **settings: Any) -> Mapping[str, float]:
        if self.version == version and left[0]:
            left[0] = False
            harm(self)
        return plain(self, **settings)

    patch.setattr(ShardedLearner, "step", step)


def noticed(children: Sequence[Placed]) -> None:
    """Waits until Ray has said that these processes are gone: half a minute by its own settings."""
    end = time.monotonic() + 60
    while not all(child.gone for child in children):
        assert time.monotonic() < end, "Ray has not said that a node is gone"
        time.sleep(0.1)


def test_a_cluster_of_its_own_gives_the_bits_of_one_machine_and_is_gone_afterwards(
    shell: Shell, model: Path, tmp_path: Path, calm: Any, graded: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    after(monkeypatch, 1, lambda learner: started.extend(below(os.getpid())))
    ran = shell(*train_line(model, tmp_path / "run", *TWO, *graded, "--machine.cluster", "auto"))
    assert ran.code == 0, ran.err
    assert "processes are started in a Ray cluster of this run at" in ran.err
    assert "Ray" not in ran.out
    assert came_to(tmp_path / "run") == calm
    assert len(started) > 4 and not all_gone(started, within=15)


def test_a_run_that_loses_a_node_moves_and_ends_with_the_same_bits(
    shell: Shell, model: Path, tmp_path: Path, calm: Any, graded: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`auto` finds the cluster, which was started before; one of its nodes has room for both ranks afterwards."""
    with cluster_of(0, 1, 1, 1) as cluster:
        address = cluster.address  # which is forgotten with the cluster
        monkeypatch.setenv("RAY_ADDRESS", address)

        def harm(learner: ShardedLearner) -> None:
            (node,) = [node for node in cluster.list_all_nodes() if f"({node.node_id[:8]})" in where(learner)]
            kill_node(node)
            noticed([learner.ranks.children[1]])

        def where(learner: ShardedLearner) -> str:
            return learner.ranks.children[1].where

        after(monkeypatch, 2, harm)
        ran = shell(*train_line(model, tmp_path / "run", *TWO, *graded, "--machine.cluster", "auto"))
    assert ran.code == 0, ran.err
    assert f"processes are started in the Ray cluster at {address}" in ran.err
    assert "rank 1 of 2 on node" in ran.err and "is gone with its" in ran.err
    assert "All processes are started again from step" in ran.err and steps_of(tmp_path / "run") == [1, 2, 3, 4]
    assert came_to(tmp_path / "run") == calm


def test_a_run_whose_whole_cluster_dies_starts_another(
    shell: Shell, model: Path, tmp_path: Path, calm: Any, graded: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ranks live on until the run, which hears of it from Ray, closes their channels."""
    started: list[int] = []

    def harm(learner: ShardedLearner) -> None:
        raylets = [pid for pid in below(os.getpid()) if Path(f"/proc/{pid}/comm").read_text().strip() == "raylet"]
        assert len(raylets) == 1
        started.extend(below(os.getpid()))
        os.kill(raylets[0], signal.SIGKILL)
        noticed(learner.ranks.children)

    after(monkeypatch, 1, harm)
    ran = shell(*train_line(model, tmp_path / "run", *TWO, *graded, "--machine.cluster", "auto"))
    assert ran.code == 0, ran.err
    assert "of 2 on node" in ran.err and "All processes are started again from step" in ran.err
    assert ran.err.count("processes are started in a Ray cluster of this run at") == 2
    assert came_to(tmp_path / "run") == calm
    assert len(started) > 4 and not all_gone(started, within=15)


def test_servers_lie_in_the_cluster_too(shell: Shell, model: Path, tmp_path: Path, graded: tuple[str, ...]) -> None:
    """A run of one learner with a server, here and in a cluster: the same bits."""
    told = ("--machine.samplers", "1", "--machine.precision", "fp32", *graded)
    assert shell(*train_line(model, tmp_path / "here", *told)).code == 0
    ran = shell(*train_line(model, tmp_path / "there", *told, "--machine.cluster", "auto"))
    assert ran.code == 0, ran.err
    assert came_to(tmp_path / "here") == came_to(tmp_path / "there")
    address = json.loads((tmp_path / "there" / "samplers" / "0.log").read_text().splitlines()[0])["address"]
    assert address.startswith("http://127.0.0.1:"), "the one node of a cluster of the run's own"


def test_vllm_lies_in_the_cluster_too_and_is_gone_afterwards(
    shell: Shell, tmp_path: Path, graded: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its weights come by network."""
    require_vllm()
    model = model_of(tmp_path / "model")
    started, others, plain = set[int](), set(below(os.getpid())), Published.receive

    def receive(self: Published, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        started.update(set(below(os.getpid())) - others)
        plain(self, weights, version)

    monkeypatch.setattr(Published, "receive", receive)
    told = ("--machine.sampler", "vllm", "--machine.samplers", "1", "--machine.sampler-python", PYTHON)
    more = ("--machine.cluster", "auto", "--machine.publish", "gloo", "--machine.precision", "fp32", *graded)
    ran = shell(*train_line(model, tmp_path / "run", *told, *more))
    assert ran.code == 0, ran.err
    head = (tmp_path / "run" / "samplers" / "0.log").read_text().splitlines()[0]
    assert json.loads(head)["address"].startswith("http://127.0.0.1:")
    metrics = RunFolder.read_only(tmp_path / "run").read("metrics")
    assert [record["step"] for record in metrics] == [1, 2, 3, 4]
    assert all(record["samplers/probe_gap"] < 1e-4 and record["samplers/discarded"] == 0 for record in metrics)
    assert len(started) > 4 and not all_gone(sorted(started), within=15)


def test_vllm_that_a_node_does_not_have_ends_the_run_with_its_words(
    shell: Shell, model: Path, tmp_path: Path, graded: tuple[str, ...]
) -> None:
    told = ("--machine.sampler", "vllm", "--machine.samplers", "1", "--machine.sampler-python", "/no/such/python")
    ran = shell(*train_line(model, tmp_path / "run", *told, "--machine.cluster", "auto", *graded))
    assert ran.code == 69 and "machine.sampler-python is /no/such/python, which cannot be run" in ran.err


def test_a_run_for_which_the_cluster_has_no_room_is_refused(shell: Shell, model: Path, tmp_path: Path) -> None:
    told = ("--machine.learners", "3", "--machine.precision", "fp32")
    with cluster_of(1, 1) as cluster:
        ran = shell(*train_line(model, tmp_path / "run", *told, "--machine.cluster", cluster.address))
    assert ran.code == 69 and "3 x (1 CPU) were asked for" in ran.err and "free now: 2 CPU" in ran.err
