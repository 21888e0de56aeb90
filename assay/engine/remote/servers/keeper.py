"""A small process beside a server that we started: the server and all its processes end when the starter is gone.

A death signal reaches one process only, and a server such as vLLM has several. The keeper holds the other end of a pipe
of the starter. When that closes, for any reason, the keeper ends the server's whole process group.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import signal
import subprocess
import sys
import time

from assay.host.child import end_with
from assay.host.stops import leave_to_parent

FAREWELL = 5.0  # seconds that a server has to end by itself
LOOK = 0.2


def main(command: list[str]) -> int:
    """Runs the command until the standard input ends, or the command. Returns the command's exit code."""
    leave_to_parent(signal.SIGINT)
    tied, starter = functools.partial(end_with, os.getpid()), os.getppid()
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=tied)
    try:
        while server.poll() is None:
            if (select.select([0], [], [], LOOK)[0] and not os.read(0, 1)) or os.getppid() != starter:
                break
    finally:
        _end(server)
    return server.returncode


def _end(server: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, number)
        until = time.monotonic() + FAREWELL
        while _group_lives(server) and time.monotonic() < until:
            time.sleep(0.05)


def _group_lives(server: subprocess.Popen[bytes]) -> bool:
    server.poll()
    try:
        os.killpg(server.pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
