"""Host programs as processes. One that has ended a game begins the next, because some libraries take long to import."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

IDLE = 4  # processes of a program that wait for a game
LONGEST = 1 << 24  # bytes of an answer
_TOLD = 300  # characters of the error stream that are told

Json = Any


class HostLost(RuntimeError):
    """A host program has no answer to give: an error of the world's."""


class Host:
    """A running host program: `Host([python, "lines.py", "gem_host.py"]).ask({"text": "5"})`."""

    def __init__(self, line: Sequence[str]) -> None:
        self.line = tuple(line)
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `end`
        self.process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, cwd=tempfile.gettempdir()
        )

    def ask(self, order: Mapping[str, Json]) -> dict[str, Json]:
        """The answer to an order. What is no answer, or tells of an error, is a HostLost."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline(LONGEST)
        except OSError as error:
            raise HostLost(f"its program is gone: {error}; {self._told()}") from error
        if not line.endswith(b"\n"):
            raise HostLost(f"its program ended or said too much; {self._told()}")
        try:
            answer = json.loads(line)
        except ValueError as error:
            raise HostLost(f"its program said what is no answer: {line[:60]!r}") from error
        if not isinstance(answer, dict):
            raise HostLost(f"its program said what is no answer: {line[:60]!r}")
        if "error" in answer:
            raise HostLost(str(answer["error"]))
        return answer

    def _told(self) -> str:
        """The end of what it wrote to its error stream."""
        self.errors.seek(max(0, self.errors.seek(0, os.SEEK_END) - _TOLD))
        return self.errors.read().decode(errors="replace").strip() or "it said nothing"

    def end(self) -> None:
        """Ends the process. It may be called twice."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            if stream is not None:
                with contextlib.suppress(OSError):  # what was still to be written to a process that is gone
                    stream.close()


_idle: dict[tuple[str, ...], list[Host]] = defaultdict(list)
_lock = threading.Lock()


def hired(line: Sequence[str]) -> Host:
    """A host program for one game: one that waits, or a new one."""
    with _lock:
        waiting = _idle[tuple(line)]
        while waiting:
            host = waiting.pop()
            if host.process.poll() is None:
                return host
            host.end()
    return Host(line)


def released(host: Host) -> None:
    """Gives back a host program whose game ended well."""
    with _lock:
        if len(_idle[host.line]) < IDLE and host.process.poll() is None:
            _idle[host.line].append(host)
            return
    host.end()
