"""Runs commands one after another, each in a forked child that may take so much memory and so many seconds.

Run as a program: reads {"line": [...]} as JSON lines, writes for each {"code", "told", "seconds", "grew_mb"}. The
parent imports what a command needs and never computes, so that a child begins where an attack would. A child that is
past its time is killed and has the code -9.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
from pathlib import Path

SECONDS = 30  # an attack is refused in a few; the machine may be busy
MEMORY_MB = 2048  # of addresses beyond what is there when the child begins


def pages(name: str) -> int:
    """A line of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    raise KeyError(name)


def child(line: list[str], said: int) -> None:
    from assay.cli.main import main

    os.dup2(said, 1)
    os.dup2(said, 2)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    limit = pages("VmSize") + (MEMORY_MB << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    before = pages("VmRSS")
    code = main(line)
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(said, b"\ngrew %d\n" % ((pages("VmHWM") - before) >> 20))
    os._exit(code)


def run(line: list[str]) -> dict[str, object]:
    with tempfile.TemporaryFile() as said:
        began = time.monotonic()
        pid = os.fork()
        if pid == 0:
            try:
                child(line, said.fileno())
            finally:
                os._exit(99)
        watched = os.pidfd_open(pid)
        if not select.select([watched], [], [], SECONDS)[0]:
            os.kill(pid, signal.SIGKILL)
        os.close(watched)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        seconds = time.monotonic() - began
        said.seek(0)
        told, _, grew = said.read().decode(errors="replace").partition("\ngrew ")
    return {"code": code, "told": told[-4000:], "seconds": seconds, "grew_mb": int(grew or -1)}


def serve() -> None:
    import pyarrow.parquet  # noqa: F401
    import torch
    import transformers  # noqa: F401

    import assay.engine.torch.engine
    import assay.policy.checkpoint
    import assay.run.session  # noqa: F401

    torch.set_num_threads(1)
    for scenario in sys.stdin:
        print(json.dumps(run(json.loads(scenario)["line"])), flush=True)


if __name__ == "__main__":
    serve()
