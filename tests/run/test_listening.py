"""Nothing of a run listens at an address that nobody asked for, by the kernel's table of sockets while it runs."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from listening import Seen, address_of, doors, watched
from small_runs import make_model, train_line


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize(
    ("host", "loopback"), [("127.0.0.1", True), ("127.0.0.9", True), ("0.0.0.0", False), ("::1", True), ("::", False)]
)
def test_the_table_shows_where_a_process_listens(host: str, loopback: bool) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server:
        port = server.getsockname()[1]
        (found,) = [door for door in doors([os.getpid()]) if door.port == port]
        assert (found.address, found.on_loopback) == (host, loopback)
    assert not [door for door in doors([os.getpid()]) if door.port == port]


def test_an_address_is_read_in_the_machines_order_of_bytes() -> None:
    assert address_of("0100007F") == "127.0.0.1" and address_of("0" * 32) == "::"
    assert address_of("0000000000000000FFFF00000100007F") == "::ffff:7f00:1"


ONE_STEP = ("--steps", "1")
SETTINGS = ("--machine.precision", "fp32", "--machine.deadline", "60")


def require_loopback(seen: Seen) -> None:
    assert all(door.on_loopback for door in seen.doors), (seen.doors, seen.said)


def require_one_secret(seen: Seen, run: Path) -> None:
    """All that asks for a secret asks for the same, which stands in no file of the run and on no command line."""
    (secret,) = seen.secrets
    written = [path for path in run.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert not written and secret not in seen.said
    assert not [command for command in seen.commands if secret in command]


@pytest.mark.slow
def test_learners_and_servers_that_take_weights_by_network_listen_on_the_loopback(model: Path, tmp_path: Path) -> None:
    """Two learners, a server, and the store and gate through which the server is given weights: gloo's pairs, HTTP,
    the store and its gate.
    """
    more = ("--machine.learners", "2", "--machine.samplers", "1", "--machine.publish", "gloo")
    line = [*train_line(model, tmp_path / "run", *SETTINGS, *more), *ONE_STEP]
    seen = watched(line, mark=str(tmp_path), seconds=500.0)
    require_loopback(seen)
    require_one_secret(seen, tmp_path / "run")
    names = ("assay.engine.sharded.rank ", "assay.engine.remote.server ", "-m assay train ")
    of = [[door for door in seen.doors if name in door.process] for name in names]
    assert [len(some) >= least for some, least in zip(of, (2, 2, 3), strict=True)] == [True] * 3, seen.doors


@pytest.mark.scale
def test_a_cluster_of_the_runs_own_listens_on_the_loopback_too(model: Path, tmp_path: Path) -> None:
    """What Ray opens, it opens there, and every process of it; its token is the secret of the servers."""
    more = ("--machine.learners", "2", "--machine.samplers", "1", "--machine.cluster", "auto")
    line = [*train_line(model, tmp_path / "run", *SETTINGS, *more), *ONE_STEP]
    seen = watched(line, mark=str(tmp_path), seconds=500.0)
    require_loopback(seen)
    require_one_secret(seen, tmp_path / "run")
    assert {"gcs_server", "raylet"} <= {door.process for door in seen.doors}
