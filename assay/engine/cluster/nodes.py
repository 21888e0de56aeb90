"""Processes on the nodes of a Ray cluster, as a run starts, hears and ends them."""

from __future__ import annotations

import contextlib
import hmac
import os
import pickle
import secrets
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from assay.engine.cluster.guarded import PROBE
from assay.engine.cluster.launcher import Needs
from assay.engine.cluster.seat import HEAD
from assay.errors import AssayError, EndpointError, ProcessLost
from assay.host.child import Child, Line, listen

PROGRAM = "assay.engine.cluster.program:serve"
ROOM = 45.0  # seconds until a cluster is joined or started, and then until it has places for a launch
ANSWER = 15.0  # seconds in which the broker must answer beyond what a call itself may take
REASON = 3.0  # seconds in which Ray may still say why a process is gone
GREETING = 5.0  # seconds that a connection has to say who it is
TURN = 0.1
LOG = "cluster.log"  # in the run folder
LOOK = 0.5  # seconds between two looks at what Ray says


class Far:
    """A process on a node of a cluster."""

    def __init__(self, cluster: Cluster, facts: dict[str, Any], line: Line) -> None:
        self.cluster, self.line = cluster, line
        self.number, self.host = facts["number"], facts["host"]
        self.where = f" on node {self.host} ({facts['node'][:8]})"

    @property
    def gone(self) -> bool:
        return self.line.ended or self.cluster.ended(self.number)

    def ending(self) -> str:
        return self.cluster.ending(self.number)

    def close(self, *, now: bool = False) -> None:
        """Ends it at once, as Ray ends actors: also without `now`, because a node's processes leave nothing behind."""
        if self.number in self.cluster.far:
            self.line.hear(ended=True)
            self.line.channel.close()
            os.close(self.line.output)
            self.line.ended = True
            self.cluster.end(self)


class Cluster:
    """A Ray cluster in which a run starts processes. They end with the block, and with this process.

    with Cluster("auto", folder=run) as cluster, Ranks(Group(size=2), cluster) as ranks: ...
    """

    def __init__(self, address: str, *, folder: Path, room: float = ROOM) -> None:
        """`folder` must be seen by all nodes. The cluster must be joined within `room` seconds, and a launch for which
        there is no room within as many is refused.
        """
        self.asked, self.folder, self.room = address, folder, room
        self.secret = secrets.token_hex(32)
        self.endings: dict[int, str] = {}  # number of a process -> how it ended
        self.far: dict[int, Far] = {}
        self.facts: dict[str, Any] = {}  # of the cluster, once it was joined
        self._lock, self._looked = threading.RLock(), 0.0
        self.broker = Child(PROGRAM)
        try:
            self.facts = self._ask("connect", address, folder / LOG, self.secret, seconds=room + PROBE)
        except BaseException:
            self.broker.close(now=True)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @property
    def words(self) -> str:
        return f"{'a Ray cluster of this run' if self.facts['ours'] else 'the Ray cluster'} at {self.facts['address']}"

    def close(self) -> None:
        """Ends all processes, and the cluster if this run has started it."""
        for far in list(self.far.values()):
            far.close(now=True)
        self.broker.close(farewell=ANSWER)

    def start(self, program: str, count: int, needs: Needs) -> Sequence[Far]:
        """Starts a program on so many places of the cluster, those of one node one after the other."""
        secret, mark = secrets.token_bytes(32), self.folder / f".seen-{secrets.token_hex(8)}"
        with socket.create_server((self.facts["host"], 0), backlog=4 * count + 16) as door:
            mark.write_text(secrets.token_hex(8))
            try:
                facts = self._ask(
                    "launch",
                    program,
                    count,
                    needs,
                    door.getsockname()[:2],
                    secret,
                    seconds=2 * self.room,
                    room=self.room,
                    shared=(str(mark), mark.read_text()),
                )
            finally:
                mark.unlink()
            lines = _arrived(door, secret, [process["number"] for process in facts])
        made = [Far(self, process, lines[process["number"]]) for process in facts]
        self.far.update({far.number: far for far in made})
        return made

    def meeting(self) -> Path:
        folder = self.folder / f".meeting-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        return folder

    def ended(self, number: int) -> bool:
        """Whether Ray has said that a process ended: a connection to a node without power does not show it. If the
        process that speaks with Ray is gone, all processes are lost.
        """
        if time.monotonic() - self._looked > LOOK and self._lock.acquire(blocking=False):
            try:  # the thread that holds the lock reads what Ray says
                self._hear(0)
            finally:
                self._lock.release()
        return number in self.endings or self.broker.gone

    def ending(self, number: int) -> str:
        """How a process ended. If its connection closed first, Ray is waited for, because Ray knows more."""
        end = time.monotonic() + REASON
        while number not in self.endings and not self.broker.gone and time.monotonic() < end:
            with self._lock:
                self._hear(TURN)
        lost = "is gone with the process that speaks with Ray" if self.broker.gone else "has closed its connection"
        return self.endings.get(number, lost)

    def end(self, far: Far) -> None:
        if self.far.pop(far.number, None) is not None and not self.broker.gone:
            self._ask("end", [far.number], seconds=0.0)

    def _hear(self, seconds: float) -> list[tuple[Any, ...]]:
        """Messages of the broker other than those of processes that ended, which are written down."""
        self._looked = time.monotonic()
        heard = [pickle.loads(frame) for _, frame in listen([self.broker], seconds)]
        self.endings.update({message[1]: message[2] for message in heard if message[0] == "ended"})
        return [message for message in heard if message[0] != "ended"]

    def _ask(self, method: str, *arguments: Any, seconds: float, **named: Any) -> Any:
        with self._lock:
            self.broker.send(pickle.dumps((method, arguments, named)))
            end = time.monotonic() + seconds + ANSWER
            while time.monotonic() < end:
                for kind, what in self._hear(TURN):
                    if kind == "done":
                        return what
                    raise what if kind == "refused" else AssayError(f"the process that speaks with Ray failed: {what}")
                if self.broker.gone:
                    raise self._lost(f"the process that speaks with Ray {self.broker.ending()}{self._see}.")
            self.broker.close(now=True)
        raise self._lost(
            f"the Ray cluster of machine.cluster {self.asked} has not answered for {seconds + ANSWER:g} s ({method})"
            f"{self._see}."
        )

    def _lost(self, why: str) -> EndpointError:
        """Before the cluster was joined an error of what was asked for; after that another one takes its place."""
        return ProcessLost(why) if self.facts else EndpointError(why)

    @property
    def _see(self) -> str:
        return f"; {self.folder / LOG} has what Ray printed"


def _arrived(door: socket.socket, secret: bytes, numbers: Sequence[int]) -> dict[int, Line]:
    """The two connections of each process, which stand at the door; others are sent away."""
    connections: dict[tuple[int, bool], socket.socket] = {}
    door.settimeout(GREETING)
    while len(connections) < 2 * len(numbers):
        try:
            line, _ = door.accept()
        except TimeoutError:
            raise EndpointError("a process of the Ray cluster has started and not connected.") from None
        line.settimeout(GREETING)
        with contextlib.suppress(OSError):
            greeting = line.recv(HEAD.size, socket.MSG_WAITALL)
            if len(greeting) == HEAD.size and hmac.compare_digest(greeting[:32], secret):
                _, number, output = HEAD.unpack(greeting)
                connections[number, output] = line
                continue
        line.close()
    return {number: Line(connections[number, False], connections[number, True].detach()) for number in numbers}
