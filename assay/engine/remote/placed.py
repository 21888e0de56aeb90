"""A server of ours where a launcher has placed it: it listens at the address of its node, and ends with the run."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from assay.engine.cluster.launcher import Launcher, Needs
from assay.engine.remote.starting import LOG
from assay.host.child import Parent, listen
from assay.host.files import read_bytes

PROGRAM = "assay.engine.remote.placed:serve"


class PlacedServer:
    """A server of `assay.engine.remote.server`, by the arguments of its command.

    Example:
        server = PlacedServer(["--model", "models/tiny", "--threads", "4"], cluster, name="a sampler", log=log)
    """

    def __init__(self, arguments: Sequence[str], launcher: Launcher, *, name: str, log: Path) -> None:
        """`log` lies where the node sees it too: in the run folder."""
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"")
        told = dict(zip(arguments[::2], arguments[1::2], strict=True))
        cuda = told.get("--device", "cpu").startswith("cuda")
        needs = Needs(cpus=max(1, int(told.get("--threads", 1))), gpus=int(cuda))
        (self.process,) = launcher.start(PROGRAM, 1, needs)
        self.name, self.log, self.address = f"{name}{self.process.where}", log, ""
        self.process.line.send(pickle.dumps(([*arguments, "--host", self.process.host], log)))

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


def serve(channel: int, words: int, parent: int) -> None:
    """What the process on the node runs: the server of `main`, until whoever launched it has closed the channel."""
    starter = Parent(channel, words, parent)
    if (frame := starter.read()) is None:
        return
    arguments, log = pickle.loads(frame)
    with Path(log).open("ab") as printed:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(printed.fileno(), stream.fileno())
    threading.Thread(target=_end_with, args=(starter,), daemon=True).start()
    from assay.engine.remote.server import main

    main(arguments)


def _end_with(starter: Parent) -> None:
    while starter.read() is not None:
        pass
    os._exit(0)
