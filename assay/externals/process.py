"""Foreign programs as child processes that cannot outlive their worker, their deadline or their limits.

Beside each program runs a guard: a small shell that leads the process group which the program joins, and that reads
from a pipe of the worker. The pipe ends when the worker dies, however it dies; the guard then removes the program's
folder and kills the group. Neither is a fork of the worker, which would cost more than most programs do. Processor
time is limited by the kernel, so that a busy machine changes no verdict.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal

from assay.host.worker import seconds_left

FOLDERS = "assay-external-"  # how the names of their folders begin, below the temporary folder of the machine
WALL = 15  # a program that runs so many times its seconds by the clock is given no processor time
_USED = 0.8  # of the limit: the kernel may end a child of a program somewhat early on a busy machine
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent"}
# A program that makes a file while `rm` works can make one attempt fail; none can be made in a folder that is gone.
_GUARD = f'read _; case $1 in */{FOLDERS}*) rm -rf "$1" || rm -rf "$1";; esac; kill -KILL 0'
_LIMITED = 'ulimit -c 0; ulimit -v {memory}; ulimit -f {file}; ulimit -S -t {soft}; ulimit -H -t {hard}; exec "$@"'


@dataclass(frozen=True)
class Limits:
    """The limits of a program's time, memory and output: `Limits(seconds=5, memory_mb=512)`."""

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


@dataclass(frozen=True)
class Program:
    """A program that runs, with pipes for its three streams, and the guard whose process group it is in."""

    process: subprocess.Popen[bytes]
    guard: subprocess.Popen[bytes]


def start(command: Sequence[str], limits: Limits, folder: str = "/") -> Program:
    """Starts a program in a folder. `stop` ends it, with all of its children."""
    environment = _ENVIRONMENT | {"TMPDIR": folder}
    path = shutil.which(command[0], path=_ENVIRONMENT["PATH"])
    if path is None:
        raise FileNotFoundError(f"no program {command[0]!r} in {_ENVIRONMENT['PATH']}")
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "guard", folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=environment,
        bufsize=0,
        process_group=0,
    )
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _limited(limits), "limits", path, *command[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment,
            bufsize=0,
            process_group=guard.pid,
        )
    except BaseException:
        _end(guard)
        raise
    return Program(process, guard)


def _limited(limits: Limits) -> str:
    """The shell's program that limits itself and becomes another."""
    return _LIMITED.format(
        memory=_allowed(resource.RLIMIT_AS, limits.memory_mb << 20) >> 10,
        file=_allowed(resource.RLIMIT_FSIZE, limits.file_mb << 20) >> 9,
        soft=_allowed(resource.RLIMIT_CPU, limits.seconds),
        hard=_allowed(resource.RLIMIT_CPU, limits.seconds + 1),
    )


def _allowed(kind: int, wanted: int) -> int:
    """A limit, or that of the worker if it is lower."""
    most = resource.getrlimit(kind)[1]
    return wanted if most == resource.RLIM_INFINITY else min(wanted, most)


def stop(program: Program) -> None:
    """Ends a program and its children, waits until they are gone, and closes its streams."""
    _end(program.guard)
    program.process.wait()
    for stream in (program.process.stdin, program.process.stdout, program.process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _end(guard: subprocess.Popen[bytes]) -> None:
    """Ends a guard with all of its group."""
    _kill(guard)
    guard.wait()
    assert guard.stdin is not None
    guard.stdin.close()


def _kill(guard: subprocess.Popen[bytes]) -> None:
    """Kills the process group of a guard; its number is given to no other before the guard is waited for."""
    if guard.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(guard.pid, signal.SIGKILL)


def run(command: Sequence[str], files: Mapping[str, str], limits: Limits, *, text: str = "") -> Ended:
    """Runs a program to its end, in a new folder with these files, with this text as its standard input.

    It has no more seconds than the job of this worker has left, counted in whole ones.
    """
    left = seconds_left()
    if left <= 0:
        return Ended("time")
    limits = replace(limits, seconds=min(limits.seconds, math.ceil(min(left, limits.seconds))))
    with tempfile.TemporaryDirectory(prefix=FOLDERS) as folder:
        for name, content in files.items():
            Path(folder, name).write_text(content, encoding="utf-8", errors="replace")
        program = start(command, limits, folder)
        try:
            status, output, errors = _exchange(program, text.encode(errors="replace"), limits)
            if status != "done":
                return Ended(status, 0, output, errors)
            code, late = _waited(program.process, limits)
            return Ended("time" if late else "done", code, output, errors)
        finally:
            stop(program)


def _waited(process: subprocess.Popen[bytes], limits: Limits) -> tuple[int, bool]:
    """(the exit code of a program, 128 and the signal's number if one ended it; whether its time was used up)."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    late = code == 128 + signal.SIGXCPU or used.ru_utime + used.ru_stime >= _USED * limits.seconds
    return code, late


def _exchange(program: Program, text: bytes, limits: Limits) -> tuple[Literal["done", "output", "starved"], str, str]:
    """Writes the text and reads both streams to their ends, as far as the limits allow.

    Children that the program leaves behind would keep the streams open: they are killed when it has ended.
    """
    process = program.process
    assert process.stdin and process.stdout and process.stderr
    read: dict[IO[bytes], bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    until = time.monotonic() + WALL * limits.seconds
    status: Literal["done", "output", "starved"] = "done"
    with selectors.DefaultSelector() as selector, os.fdopen(os.pidfd_open(process.pid), "rb", buffering=0) as ended:
        selector.register(ended, selectors.EVENT_READ)
        for stream in read:
            selector.register(stream, selectors.EVENT_READ)
        selector.register(process.stdin, selectors.EVENT_WRITE)
        while status == "done" and selector.get_map():
            events = selector.select(until - time.monotonic())
            if not events and time.monotonic() > until:
                status = "starved"
            for key, _ in events:
                stream: Any = key.fileobj
                if stream is ended:
                    _kill(program.guard)
                    data = b""
                elif stream is process.stdin:
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
    """Writes a part of the text and returns the rest; nothing is left if the program no longer reads."""
    try:
        return text[os.write(stream.fileno(), text[:4096]) :]
    except BrokenPipeError:
        return b""
