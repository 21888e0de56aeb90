"""Starts servers here or on a node, waits until they answer, and ends them with the process that started them."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from assay.engine.cluster.launcher import Launcher, Needs
from assay.errors import ConfigError, EndpointError
from assay.host.child import listen
from assay.host.files import read_bytes

FAREWELL = 15.0  # seconds in which a server that is told to end must be gone
LOOK = 0.1
LAST_LINES = 12  # of a log, in an error
LOG = 256 << 20  # bytes of a log that are read

Ready = Callable[["Started"], str]
"""(a server that was started) -> its address, or '' while it is not ready."""


class Server(Protocol):
    """A server that this process started, here or elsewhere."""

    name: str
    address: str
    log: Path

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    @property
    def gone(self) -> bool: ...

    def close(self) -> None:
        """Ends the server and waits until it is gone."""
        ...

    def text(self) -> str:
        """The text that the server has printed so far."""
        ...


S = TypeVar("S", bound=Server)


class Started:
    """A server that this process started.

    Example:
        with start(command, name="vLLM", log=folder / "sampler-0.log", ready=ready, seconds=600.0) as server:
            site = VllmSite(server.address)
    """

    def __init__(
        self, command: Sequence[str], *, name: str, log: Path, environment: Mapping[str, str], first: str = ""
    ) -> None:
        """`first` is the first line of the log."""
        self.name, self.log, self.address = name, log, ""
        keeper = [sys.executable, "-m", "assay.engine.remote.servers.keeper", *command]
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(first)
        with log.open("ab") as printed:
            try:
                self.process = subprocess.Popen(
                    keeper,
                    stdin=subprocess.PIPE,
                    stdout=printed,
                    stderr=printed,
                    start_new_session=True,
                    env={**os.environ, **environment},
                )
            except OSError as error:
                raise ConfigError(f"{name} cannot be started: {error}.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def gone(self) -> bool:
        return self.process.poll() is not None

    def close(self) -> None:
        """Ends the server and waits until it is gone."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        try:
            self.process.wait(timeout=FAREWELL)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=FAREWELL)

    def text(self) -> str:
        """The text that the server has printed so far."""
        return read_bytes(self.log, most=LOG).decode(errors="replace")


class PlacedServer:
    """A server on a node where a launcher has placed it: it listens at the address of the node, and ends with the run.

    `program` runs it: `servers.own:serve` or `servers.vllm:serve`.

    Example:
        server = PlacedServer(PROGRAM, (arguments, handed(secret)), cluster, Needs(cpus=4), name="a sampler", log=log)
    """

    def __init__(self, program: str, told: Any, launcher: Launcher, needs: Needs, *, name: str, log: Path) -> None:
        """`told` is handed to the program; `log` lies where the node sees it too, in the run folder."""
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"")
        (self.process,) = launcher.start(program, 1, needs)
        self.name, self.log, self.address = f"{name}{self.process.where}", log, ""
        self.process.line.send(pickle.dumps((told, self.process.host, log)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def gone(self) -> bool:
        if not self.process.gone:
            listen([self.process], 0)
        return self.process.gone

    def close(self) -> None:
        self.process.close(now=True)

    def text(self) -> str:
        return read_bytes(self.log, most=LOG).decode(errors="replace")


def complaint(server: Server) -> str:
    """The first error in what a server has printed, such as `RuntimeError: no such device`, or nothing."""
    found = re.search(r"(?m)(?:^|\] )(\w*(?:Error|Exception): .+)$", server.text())
    return found[1].strip() if found else ""


def last_words(server: Server) -> str:
    return "\n".join(server.text().splitlines()[-LAST_LINES:])


def start(
    command: Sequence[str],
    *,
    name: str,
    log: Path,
    ready: Ready,
    seconds: float,
    environment: Mapping[str, str] | None = None,
) -> Started:
    """Starts a server and waits until it is ready. EndpointError, with the end of its log, if it is not in time."""
    return in_time(Started(command, name=name, log=log, environment=environment or {}), ready, seconds)


def in_time(server: S, ready: Callable[[S], str], seconds: float) -> S:
    """The server, when it is ready. EndpointError, with the end of its log, if it is not in time."""
    until = time.monotonic() + seconds
    try:
        while not (address := ready(server)):
            if server.gone or time.monotonic() > until:
                why = "ended" if server.gone else f"was not ready within {seconds:g} s (machine.starting)"
                raise EndpointError(f"{server.name} {why}. The end of its log {server.log}:\n{last_words(server)}")
            time.sleep(LOOK)
    except BaseException:
        server.close()
        raise
    server.address = address
    return server


def free_port(host: str) -> int:
    """A port of this machine, as `host`, that nobody listens at now."""
    with contextlib.closing(socket.socket()) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def printed(server: Server) -> str:
    """The address in the log of a server; our own prints it when it is ready."""
    for line in server.text().splitlines():
        with contextlib.suppress(ValueError):
            said = json.loads(line)
            if isinstance(said, dict) and "address" in said:
                return str(said["address"])
    return ""
