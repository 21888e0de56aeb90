"""The process inside a sandbox that forks once for each program.

It has a Unix socket to the trainer's process as its standard input. A message with six descriptors asks for a fork:
the job, the program's standard input, standard output, standard error and reply, and a socket of the fork's own. Two
messages answer: the new process as a pidfd, and how it ended. The forking process never reads a job, an input or an
output, so its memory, which every program inherits, holds nothing of the programs before.

Over its own socket the fork says that all layers are on, and waits until the trainer's process has heard it. Then it
closes the socket, and the program begins: whatever the program does with its descriptors comes after.
"""

from __future__ import annotations

import builtins
import gc
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import time
import types
from collections.abc import Sequence
from typing import Any, NoReturn

from . import calls, confine

COMPILE, MEMORY, BROKEN = 120, 121, 125  # exit codes; a program may imitate them, and only spoils its own verdict by it
READY, GO = b"\1", b"\2"  # all layers are on; the trainer's process knows it, and the program may begin
FORK_SECONDS = 20.0  # for which a fork is tried again where the machine has no room for another process
_RULES, _MARK = 4, 5  # behind the three streams and the reply; closed before the program begins
_COMMON = (  # modules that programs import often
    "array",
    "bisect",
    "cmath",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "heapq",
    "io",
    "itertools",
    "json",
    "math",
    "operator",
    "random",
    "re",
    "statistics",
    "string",
    "textwrap",
    "threading",
    "time",
    "traceback",
    "typing",
)


def main(settings: dict[str, Any]) -> NoReturn:
    """Serves forks until the trainer's process closes the socket."""
    for name in _COMMON:
        __import__(name)
    rules = confine.ruleset(settings["writable"])
    steps = calls.filter_for(os.uname().machine, processes=settings["processes"], files=bool(settings["writable"]))
    os.environ.pop("PWD", None)  # which bubblewrap adds
    control = socket.socket(fileno=os.dup(0))
    control.setblocking(True)
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    gc.collect()
    gc.freeze()
    hello = {"pid": os.getpid(), "python": sys.version.split()[0], "landlock": confine.landlock_version()}
    control.send(json.dumps(hello).encode())
    while True:
        data, given, _, _ = socket.recv_fds(control, 1 << 12, 6)
        if not data:
            os._exit(0)
        _serve(control, given, rules, steps)


def _serve(control: socket.socket, given: Sequence[int], rules: int, steps: bytes) -> None:
    child = _forked()
    if not child:
        _become(given, control, rules, steps)
    for number in given:
        os.close(number)
    handle = os.pidfd_open(child)
    try:
        socket.send_fds(control, [b'{"started": true}'], [handle])
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        poller.register(control, select.POLLIN)
        while True:
            ready = [number for number, _ in poller.poll()]
            if handle in ready:
                break
            signal.pidfd_send_signal(handle, signal.SIGKILL)  # the trainer's process asks for nothing now: it is gone
            os.wait4(child, 0)
            os._exit(0)
        _, status, used = os.wait4(child, 0)
    finally:
        os.close(handle)
    ended = {"code": os.waitstatus_to_exitcode(status), "processor": used.ru_utime + used.ru_stime}
    control.send(json.dumps(ended).encode())
    while _reaped():  # processes that the program has left, where this one is the first of its namespace
        pass


def _forked() -> int:
    """Forks. If there is no room for a process, it waits: a program beside this one may hold the room for a while."""
    until = time.monotonic() + FORK_SECONDS
    while True:
        try:
            return os.fork()
        except BlockingIOError:
            if time.monotonic() > until:
                raise
        time.sleep(0.05)


def _reaped() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


# --- in the fork --------------------------------------------------------------------------------------------


def _become(given: Sequence[int], control: socket.socket, rules: int, steps: bytes) -> NoReturn:
    """Turns the fork into the program. Ends with the code `BROKEN`, without saying `READY`, if a layer fails."""
    try:
        os.setsid()
        job, source = _read(given[0])
        *streams, mark = given[1:]
        ends = [os.dup2(number, 100 + target) for target, number in enumerate((*streams, rules, mark))]
        control.close()
        for target, number in enumerate(ends):
            os.dup2(number, target)
        os.closerange(len(ends), 1 << 16)
        confine.apply(
            job["layers"],
            ruleset=_RULES,
            filter=steps,
            user=job["user"],
            memory_mb=job["memory_mb"],
            seconds=job["seconds"],
            file_mb=job["file_mb"],
            threads=job["threads"],
        )
        with socket.socket(fileno=_MARK) as told:
            told.send(READY)
            if told.recv(1) != GO:
                raise OSError("the trainer's process did not answer")
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}".encode())
        os._exit(BROKEN)
    code = _run(source)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # the program may have closed or replaced it
            code = code or 1
    os._exit(code)


def _read(number: int) -> tuple[dict[str, Any], bytes]:
    size = os.fstat(number).st_size
    data = os.pread(number, size, 0)
    (end,) = struct.unpack_from("!I", data)
    return json.loads(data[4 : 4 + end]), data[4 + end :]


def _run(source: bytes) -> int:
    """Runs the source as the main module, and returns its exit code."""
    import threading
    import traceback

    for number, name in enumerate(("stdin", "stdout", "stderr")):
        errors = "backslashreplace" if name == "stderr" else "surrogateescape"
        mode = "w" if number else "r"
        stream = open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    random.seed(0)  # forks begin with different states: then a verdict could change from run to run
    sys.argv = ["program.py"]
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module
    code = 0
    try:
        program = compile(source, "program.py", "exec", dont_inherit=True)
    except MemoryError:
        return MEMORY
    except BaseException as error:  # a compiler may raise anything for hostile text
        sys.stderr.write(f"{type(error).__name__}: {error}"[:1000] + "\n")
        return COMPILE
    try:
        exec(program, module.__dict__)
    except SystemExit as error:
        code = _exit_code(error.code)
    except MemoryError:
        code = MEMORY
    except BaseException as error:
        code = 1
        trace = error.__traceback__
        traceback.print_exception(type(error), error, trace.tb_next if trace else None)
    try:
        threading._shutdown()  # type: ignore[attr-defined]  # waits for the program's threads, as an interpreter does
        __import__("atexit")._run_exitfuncs()
    except BaseException:
        code = code or 1
    return code


def _exit_code(given: object) -> int:
    if given is None:
        return 0
    if type(given) is int:
        return given & 0xFF
    sys.stderr.write(f"{given}\n")
    return 1
