"""Launchers start the processes of a run. The code that speaks with such a process does not know its machine."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from assay.host.child import Child, Process


@dataclass(frozen=True)
class Needs:
    """The CPUs and GPUs that one process of a launch takes for itself: `Needs(cpus=4, gpus=1)`."""

    cpus: int = 1
    gpus: int = 0

    def __str__(self) -> str:
        return f"{self.cpus} CPU" + (f" and {self.gpus} GPU" if self.gpus else "")


class Placed(Process, Protocol):
    """A process that a launcher has started somewhere."""

    host: str  # the address at which the other processes of the launch reach it
    where: str  # words that follow its name, such as ` on node 10.0.0.5`; '' on this machine


class Launcher(Protocol):
    """Starts processes, each of which runs a program of `assay.host.child`."""

    secret: str  # of the run, for the processes that it starts and for its listeners

    def start(self, program: str, count: int, needs: Needs) -> Sequence[Placed]:
        """So many processes, which all run. EndpointError if there is no room for them."""
        ...

    def meeting(self) -> Path:
        """A new folder that all processes see and nobody but this user opens. The caller removes it."""
        ...


class Local:
    """A process of this machine, a child of this one."""

    host, where = "127.0.0.1", ""

    def __init__(self, child: Process) -> None:
        self.child, self.line = child, child.line

    @property
    def gone(self) -> bool:
        return self.child.gone

    def ending(self) -> str:
        return self.child.ending()

    def close(self, *, now: bool = False) -> None:
        self.child.close(now=now)


class Here:
    """Starts processes of this machine.

    Example:
        Ranks(Group(size=2), Here())
    """

    def __init__(self, child: Callable[[str], Process] = Child) -> None:
        self.child, self.secret = child, secrets.token_hex(32)

    def start(self, program: str, count: int, needs: Needs) -> Sequence[Placed]:
        """`needs` is not looked at: the settings of a run say how many processes this machine carries."""
        return [Local(self.child(program)) for _ in range(count)]

    def meeting(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="assay-meeting-"))
