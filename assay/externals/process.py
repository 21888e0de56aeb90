"""Foreign programs as child processes that cannot outlive their worker, their deadline or their limits.

Between a worker and a program stands a keeper: a fork of the worker that waits for the program. The kernel tells the
keeper when the worker dies, however it dies; the keeper then kills the program with all of its children, and removes
its folder. Processor time is limited by the kernel, so that a busy machine changes no verdict.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Any, Literal, NoReturn

TIMED_OUT = 253  # exit code of a keeper whose program has used up its processor time
FOLDERS = "assay-external-"  # how the names of their folders begin, below the temporary folder of the machine
TICKS = 0.25  # seconds: the limit counts ticks, and ends a process that has used up to so much less
WALL = 15  # a program that runs so many times its seconds by the clock is given no processor time
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_PRCTL = ctypes.CDLL(None, use_errno=True).prctl
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent"}


@dataclass(frozen=True)
class Limits:
    """What a program may use: `Limits(seconds=5, memory_mb=512)`."""

    seconds: int = 5  # of processor time, of each of its processes
    memory_mb: int = 1024
    output_mb: int = 4  # of standard output and standard error each
    file_mb: int = 16  # of each file that it writes; 0: it can write nothing to files


@dataclass(frozen=True)
class Ended:
    """How a program ended: `Ended("done", code=0, output="1 + 1 = 2")`.

    `time` and `output`: it exceeded that limit; `starved`: the machine gave it no processor time.
    """

    status: Literal["done", "time", "output", "starved"]
    code: int = 0  # more than 128: 128 and the number of the signal that ended it
    output: str = ""
    errors: str = ""


def start(command: Sequence[str], limits: Limits, folder: str = "/") -> subprocess.Popen[bytes]:
    """Starts a program in a folder, with pipes for its three streams. `stop` ends it, with all of its children."""
    return subprocess.Popen(
        list(command),
        cwd=folder,
        env=_ENVIRONMENT | {"TMPDIR": folder},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        preexec_fn=_kept(limits, os.getpid(), folder),
    )


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a program and its children, waits until they are gone, and closes its streams."""
    if process.poll() is None:
        process.terminate()  # the keeper kills the program
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def run(command: Sequence[str], files: Mapping[str, str], limits: Limits, *, text: str = "") -> Ended:
    """Runs a program to its end, in a new folder with these files, with this text as its standard input."""
    with tempfile.TemporaryDirectory(prefix=FOLDERS) as folder:
        for name, content in files.items():
            Path(folder, name).write_text(content, encoding="utf-8", errors="replace")
        process = start(command, limits, folder)
        try:
            status, output, errors = _exchange(process, text.encode(errors="replace"), limits)
            if status != "done":
                return Ended(status, 0, output, errors)
            code = process.wait()
            return Ended("time" if code == TIMED_OUT else "done", code, output, errors)
        finally:
            stop(process)


def _exchange(
    process: subprocess.Popen[bytes], text: bytes, limits: Limits
) -> tuple[Literal["done", "output", "starved"], str, str]:
    """Writes the text and reads both streams to their ends, as far as the limits allow."""
    assert process.stdin and process.stdout and process.stderr
    read: dict[IO[bytes], bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    until = time.monotonic() + WALL * limits.seconds
    status: Literal["done", "output", "starved"] = "done"
    with selectors.DefaultSelector() as selector:
        for stream in read:
            selector.register(stream, selectors.EVENT_READ)
        selector.register(process.stdin, selectors.EVENT_WRITE)
        while status == "done" and selector.get_map():
            events = selector.select(until - time.monotonic())
            if not events and time.monotonic() > until:
                status = "starved"
            for key, _ in events:
                stream: Any = key.fileobj
                if stream is process.stdin:
                    text = _written(stream, text)
                    data = text
                else:
                    data = os.read(key.fd, 1 << 16)
                    read[stream] += data
                    if len(read[stream]) > limits.output_mb << 20:
                        status = "output"
                if not data:
                    selector.unregister(stream)
                    stream.close() if stream is process.stdin else None
    output, errors = (bytes(part).decode(errors="replace") for part in read.values())
    return status, output, errors


def _written(stream: IO[bytes], text: bytes) -> bytes:
    """What is left of the text after a part of it was written; nothing if the program no longer reads."""
    try:
        return text[os.write(stream.fileno(), text[:4096]) :]
    except BrokenPipeError:
        return b""


# --- between fork and exec ----------------------------------------------------------------------------------


def _kept(limits: Limits, worker: int, folder: str) -> Callable[[], None]:
    """What the child does before it becomes the program: it leaves a keeper behind, and limits itself."""

    def prepare() -> None:
        os.setsid()
        keeper = os.getpid()
        program = os.fork()
        if program:
            _keep(program, worker, limits.seconds, folder)
        os.setpgid(0, 0)
        _die_with(keeper, signal.SIGKILL)
        _limit(limits)

    return prepare


def _keep(program: int, worker: int, seconds: int, folder: str) -> NoReturn:
    """Waits for the program, and kills its process group when it has ended. If the worker dies, it also tidies up."""

    def end(signum: int, frame: FrameType | None) -> None:
        _kill_group(program)
        if Path(folder).name.startswith(FOLDERS):
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(128 + signum)

    with contextlib.suppress(OSError):  # the program has done the same already, and may have become another
        os.setpgid(program, program)
    signal.signal(signal.SIGTERM, end)
    _die_with(worker, signal.SIGTERM)
    os.closerange(0, 256)  # the worker reads the ends of the program's streams, not of the keeper's
    _, status, used = os.wait4(program, 0)
    _kill_group(program)
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
    late = code == 128 + signal.SIGXCPU or used.ru_utime + used.ru_stime >= seconds - TICKS
    os._exit(TIMED_OUT if late else code)


def _kill_group(program: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program, signal.SIGKILL)


def _die_with(parent: int, signum: int) -> None:
    """The kernel sends this process the signal when its parent dies; if the parent is gone already, it dies now."""
    _PRCTL(_DEATH_SIGNAL, signum, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signum)


def _limit(limits: Limits) -> None:
    memory, files = limits.memory_mb << 20, limits.file_mb << 20
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (files, files))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
