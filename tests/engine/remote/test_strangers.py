"""What a server of ours says to those who do not know its secret, and to requests that are none: no more than that."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from serving import SECRET, served_engine, serving, wire_to

from assay.engine.remote.inside_vllm.assay_door import FILE_VARIABLE, VARIABLE, named
from assay.engine.remote.servers import connections
from assay.engine.remote.servers.connections import LARGEST, STRANGERS
from assay.engine.remote.servers.http_server import GETS, POSTS, Server
from assay.engine.remote.transport.secret import fresh_secret, secret_of
from assay.engine.remote.transport.wire import Refused, Wire
from assay.errors import ConfigError


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(served_engine()) as one:
        yield one


def port_of(server: Server) -> int:
    return int(server.server_address[1])


def status_of(server: Server, head: str, *, seconds: float = 5.0) -> int:
    """The status with which a server answers these bytes, without anything after them."""
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=seconds) as link:
        link.sendall(head.encode())
        return int(link.makefile("rb").readline().split()[1])


def head_of(path: str, method: str = "POST", /, **changes: str | None) -> str:
    """The head of a request, which is sound but for the changes; a header that is None is left out."""
    told: Mapping[str, str | None] = {
        "Host": "127.0.0.1:1",
        "Authorization": named(SECRET),
        "Content-Type": "application/json" if method == "POST" else None,
        "Content-Length": "0" if method == "POST" else None,
        **{name.replace("_", "-"): value for name, value in changes.items()},
    }
    lines = [f"{name}: {value}" for name, value in told.items() if value is not None]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""])


ROUTES = [("GET", path) for path in GETS] + [("POST", path) for path in POSTS]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_but_the_health_check_asks_for_the_secret(method: str, path: str, server: Server) -> None:
    without = (None, "", "Bearer", named(SECRET[:-1]), named(SECRET + "x"), SECRET, f"Basic {SECRET}", named(""))
    for given in without if path == "/score" else without[:4]:
        expected = 200 if path == "/health" else 401
        assert status_of(server, head_of(path, method, Authorization=given)) == expected, given
    if path != "/end":
        assert status_of(server, head_of(path, method)) not in (401, 403, 404)


def test_a_server_without_a_secret_does_not_begin() -> None:
    with pytest.raises(ConfigError, match="asks for a secret"):
        Server(None, {}, secret="")  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_server_that_a_person_starts_without_a_secret_says_how_to_give_one() -> None:
    command = [sys.executable, "-m", "assay.engine.remote.server", "--model", "nowhere"]
    without = {name: value for name, value in os.environ.items() if name not in (VARIABLE, FILE_VARIABLE)}
    ended = subprocess.run(command, env=without, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 1 and ended.stderr.startswith("ConfigError: samplers ask for a secret")
    assert f"set {VARIABLE}, or {FILE_VARIABLE}" in ended.stderr and "Traceback" not in ended.stderr


def test_a_run_with_another_secret_is_told_what_to_set(server: Server) -> None:
    with pytest.raises(ConfigError, match=f"{server.address} does not know this run's secret.*{VARIABLE}"):
        Wire(server.address, fresh_secret()).json("GET", "/version", seconds=5.0)


@pytest.mark.parametrize(
    ("status", "changes"),
    [
        (403, {"Origin": "http://127.0.0.1:1"}),
        (403, {"Origin": "null"}),
        (400, {"Host": "evil.example"}),
        (400, {"Host": "evil.example:80"}),
        (400, {"Host": None}),
        (400, {"Host": ""}),
        (415, {"Content_Type": "text/plain"}),
        (415, {"Content_Type": "application/x-www-form-urlencoded"}),
        (415, {"Content_Type": None}),
        (400, {"Content_Length": "-1"}),
        (400, {"Content_Length": "abc"}),
        (400, {"Content_Length": "+5"}),
        (400, {"Content_Length": "1_0"}),
        (400, {"Content_Length": "٣"}),
        (400, {"Content_Length": "0\r\nContent-Length: 5"}),
        (411, {"Content_Length": None}),
        (411, {"Content_Length": None, "Transfer_Encoding": "chunked"}),
        (411, {"Transfer_Encoding": "chunked"}),
        (413, {"Content_Length": str(LARGEST + 1)}),
        (413, {"Content_Length": "9" * 19}),
        (400, {"Content_Length": "9" * 5000}),
    ],
)
def test_a_head_that_is_none_of_ours_is_refused_before_its_body(
    status: int, changes: dict[str, str | None], server: Server
) -> None:
    before, began = server.served.paused, time.monotonic()  # another test may have paused it
    for path in ("/pause", "/score"):
        assert status_of(server, head_of(path, **changes)) == status
    assert server.served.paused == before and time.monotonic() - began < 5.0


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:80", "10.0.0.4:8000", "[::1]:80", socket.gethostname()])
def test_a_host_is_an_address_or_a_name_of_this_machine(host: str, server: Server) -> None:
    assert status_of(server, head_of("/version", "GET", Host=host)) == 200


def test_a_get_has_no_body(server: Server) -> None:
    assert status_of(server, head_of("/version", "GET", Content_Length="5")) == 400
    assert status_of(server, head_of("/health", "GET", Authorization=None, Content_Length="5")) == 400
    assert status_of(server, head_of("/health", Authorization=None, Content_Length="1000000000")) == 401


@contextlib.contextmanager
def half_open(server: Server, count: int, head: str) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        links = []
        for _ in range(count):
            links.append(stack.enter_context(socket.create_connection(("127.0.0.1", port_of(server)), timeout=5.0)))
            links[-1].sendall(head.encode())
        yield links


def threads_of(server: Server) -> int:
    return sum("process_request_thread" in thread.name for thread in threading.enumerate())


@pytest.mark.slow
def test_many_half_open_connections_cost_few_threads_and_keep_nobody_out() -> None:
    with serving(served_engine()) as server, half_open(server, 400, "POST /pause HTTP/1.1\r\nHost: ") as links:
        end = time.monotonic() + 10
        while threads_of(server) > STRANGERS + 1 and time.monotonic() < end:
            time.sleep(0.02)
        assert threads_of(server) <= STRANGERS + 1
        began = time.monotonic()
        assert wire_to(server.address).json("GET", "/weight_info", seconds=20.0) == {"weight_version": "0"}
        assert threads_of(server) <= STRANGERS + 1
        assert time.monotonic() - began < 15.0
        links[0].settimeout(5.0)
        assert links[0].recv(1) == b"", "the oldest has made room"


@pytest.mark.slow
def test_heads_and_bodies_have_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD", 0.3)
    monkeypatch.setattr(connections, "BODY", 0.3)
    slow = ("GET /version HT", head_of("/pause", Content_Length="100") + '{"a":')
    with serving(served_engine()) as server:
        for head in slow:
            with half_open(server, 1, head) as (link,):
                link.settimeout(10.0)
                with contextlib.suppress(ConnectionError):
                    while link.recv(1000):  # at most a refusal, then the end
                        pass
        assert not server.served.paused


def test_connections_that_know_the_secret_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(served_engine()) as server:
        monkeypatch.setattr(server.connections, "most", 3)
        with half_open(server, 3, head_of("/pause", Content_Length="100")):
            end = time.monotonic() + 10
            while len(server.connections._known) < 3 and time.monotonic() < end:
                time.sleep(0.01)
            assert status_of(server, head_of("/version", "GET")) == 503
            assert status_of(server, head_of("/health", "GET")) == 200


@pytest.mark.slow
def test_a_server_connects_only_to_the_run_that_asks() -> None:
    """Neither the stranger's address nor the order of one without the lease makes it open a connection."""
    came: list[Any] = []
    with serving(served_engine()) as server, socket.create_server(("127.0.0.2", 0)) as trap:
        trap.settimeout(1.0)
        to = {"backend": "gloo", "host": "127.0.0.2", "port": trap.getsockname()[1], "name": "a", "size": 2}
        told = {"assay": {"run": "a run"}, "init_info": {**to, "seconds": 5.0, "secret": "s"}}
        wire = wire_to(server.address)
        with pytest.raises(Refused, match="from the run that has the lease"):
            wire.json("POST", "/init_weight_transfer_engine", told, seconds=5.0)
        wire.json("POST", "/lease", {"run": "a run", "seconds": 30}, seconds=5.0)
        with pytest.raises(Refused, match=r"asks from 127\.0\.0\.1, not from '127\.0\.0\.2'"):
            wire.json("POST", "/init_weight_transfer_engine", told, seconds=5.0)
        with contextlib.suppress(TimeoutError):
            came.append(trap.accept())
    assert came == []


def test_a_secret_is_given_by_a_variable_or_by_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    secret, file = fresh_secret(), tmp_path / "secret"
    assert len(secret) == 64 and secret != fresh_secret()
    assert secret_of({VARIABLE: secret}) == secret
    file.write_text(f"{secret}\n")
    file.chmod(0o600)
    assert secret_of({FILE_VARIABLE: str(file)}) == secret
    for mode in (stat.S_IRGRP, stat.S_IROTH, stat.S_IWOTH):
        file.chmod(0o600 | mode)
        with pytest.raises(ConfigError, match=f"chmod 600 {file}"):
            secret_of({FILE_VARIABLE: str(file)})
    for wrong, words in (
        ({}, "samplers ask for a secret"),
        ({VARIABLE: "short"}, "at least 16 characters"),
        ({VARIABLE: "with spaces in between it"}, "no spaces"),
        ({FILE_VARIABLE: str(tmp_path / "none")}, "cannot be read"),
    ):
        with pytest.raises(ConfigError, match=words):
            secret_of(wrong)
