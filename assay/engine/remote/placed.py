"""A server where a launcher has placed it: it listens at the address of its node, and ends with the run."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from assay.engine.cluster.launcher import Launcher, Needs
from assay.engine.remote.starting import LOG, LOOK
from assay.host.child import Parent, listen
from assay.host.files import read_bytes

if TYPE_CHECKING:
    from assay.engine.remote.starting import Started

OWN, VLLM = (f"assay.engine.remote.placed:{name}" for name in ("serve_own", "serve_vllm"))


class PlacedServer:
    """A server that one of the programs of this module runs.

    Example:
        server = PlacedServer(OWN, (arguments, handed(secret)), cluster, Needs(cpus=4), name="a sampler", log=log)
    """

    def __init__(self, program: str, told: Any, launcher: Launcher, needs: Needs, *, name: str, log: Path) -> None:
        """`told` is what the program must know; `log` lies where the node sees it too, in the run folder."""
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


def serve_own(channel: int, words: int, parent: int) -> None:
    """Runs our own server on the node, by its arguments, until who launched it has closed the channel."""
    starter = Parent(channel, words, parent)
    if (frame := starter.read()) is None:
        return
    (arguments, environment), host, log = pickle.loads(frame)
    os.environ.update(environment)
    _print_to(log)
    threading.Thread(target=_end_with, args=(starter,), daemon=True).start()
    from assay.engine.remote.server import main

    main([*arguments, "--host", host])


def serve_vllm(channel: int, words: int, parent: int) -> None:
    """Runs vLLM on the node. It has a keeper, which ends it with this process, whatever ends that."""
    starter = Parent(channel, words, parent)
    if (frame := starter.read()) is None:
        return
    how, host, log = pickle.loads(frame)
    from assay.engine.remote.vllm import begun
    from assay.errors import AssayError

    try:
        server = begun(how, host=host, log=log)
    except AssayError as error:
        log.write_text(f"{error}\n")
        sys.exit(1)
    threading.Thread(target=_leave_with, args=(server,), daemon=True).start()
    with server:
        while starter.read() is not None:
            pass


def _print_to(log: Path) -> None:
    with log.open("ab") as printed:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(printed.fileno(), stream.fileno())


def _end_with(starter: Parent) -> None:
    while starter.read() is not None:
        pass
    os._exit(0)


def _leave_with(server: Started) -> None:
    while not server.gone:
        time.sleep(LOOK)
    os._exit(1)
