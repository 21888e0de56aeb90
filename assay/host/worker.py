"""The inside of a worker process: it answers jobs, in lines of JSON over its standard streams, until its input ends.

A job runs in a fork of the worker, which was made when all libraries had been loaded and none had seen a text. So no
job can leave anything behind that a later one would meet, and the result of a job depends on nothing but the job. The
fork has one thread, as the worker has. A job that is out of time ends alone, and the worker need not start again.

A worker that keeps a session with another program (`keeps`) answers in its own process instead.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import math
import os
import resource
import select
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.host.stops import leave_to_parent

Json = Any
Answer = Callable[[Json, Callable[[str], None]], Json]
"""(job, tell) -> result. A job calls `tell` to report how far it has come; reports outlive the process."""

CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
"""The signals of a library that cannot go on. The process itself causes each of them."""

_PARENT_DEATH = 1  # prctl: the signal that a process gets when its parent ends


@dataclass(frozen=True)
class Preparation:
    """The part of each job that is not the answer's: it has `seconds` of its own, until the job tells of `mark`."""

    mark: str
    seconds: float


class Clock:
    """The processor time of a job: its own, and that of the programs that it has waited for. The kernel's timer ends
    the process when the job itself has used all of it.
    """

    def __init__(self) -> None:
        self.seconds = math.inf
        self._began = 0.0

    def start(self, seconds: float) -> None:
        self.seconds, self._began = seconds, _used()
        signal.setitimer(signal.ITIMER_PROF, seconds)

    def stop(self) -> float:
        """The seconds since the start."""
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        used, self.seconds = _used() - self._began, math.inf
        return used

    def left(self) -> float:
        return self.seconds - (_used() - self._began)


def _used() -> float:
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


_clock = Clock()


def seconds_left() -> float:
    """The processor seconds that the job of this process may still use; endless outside of a job."""
    return _clock.left()


def serve(
    function: str,
    memory_mb: int,
    *,
    keeps: bool = False,
    loads: Sequence[str] = (),
    preparation: tuple[str, float] | None = None,
) -> None:
    """The main function of a worker: answers jobs with `function`, written `module:function`, until its input ends.

    `loads` are modules that the function imports when it is first used.
    """
    leave_to_parent(signal.SIGINT)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # sent when a job has used up its seconds; ends the process
    reply = os.dup(1)
    os.dup2(2, 1)  # printing of libraries goes to standard error, so that it cannot be taken for an answer
    module, _, name = function.partition(":")
    answer: Answer = getattr(importlib.import_module(module), name)
    for other in loads:
        importlib.import_module(other)
    _limit_memory(memory_mb)
    prepared = Preparation(*preparation) if preparation else None
    _write(reply, {"ready": True})
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if keeps:
            _work(answer, message, prepared, lambda **said: _write(reply, said))
        elif not _apart(answer, message, prepared, reply):
            break


def _work(answer: Answer, message: Json, prepared: Preparation | None, say: Callable[..., None]) -> None:
    waits = prepared is not None

    def tell(reached: str) -> None:
        nonlocal waits
        say(reached=reached)
        if waits and prepared is not None and reached == prepared.mark:
            waits = False
            _clock.start(message["seconds"])

    outcome: dict[str, Json]
    _clock.start(message["seconds"] if prepared is None else max(prepared.seconds, message["seconds"]))
    try:
        outcome = {"status": "done", "result": answer(message["job"], tell)}
    except MemoryError:
        outcome = {"status": "memory"}
    except Exception as error:  # a library may raise anything; only the type is reported, its text may be hostile
        outcome = {"status": "error", "detail": type(error).__name__}
    say(**outcome, seconds=_clock.stop())


def _apart(answer: Answer, message: Json, prepared: Preparation | None, reply: int) -> bool:
    """Answers a job in a fork, and says how the fork ended if it did not answer. False if nobody asks any more."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(out)
            os.close(reply)
            if sys.platform == "linux":
                ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
            _work(answer, message, prepared, lambda **said: _write(into, said))
        finally:
            os._exit(0)
    os.close(into)
    wanted = _relay(out, reply, child)
    _, status, used = os.wait4(child, 0)
    os.close(out)
    if wanted and os.WIFSIGNALED(status):
        _write(reply, _ended(os.WTERMSIG(status), used.ru_utime + used.ru_stime))
    return wanted


def _ended(number: int, seconds: float) -> Json:
    """The reply for a job that a signal ended."""
    if number == signal.SIGPROF:
        return {"status": "time", "seconds": seconds}
    status = "crash" if number in CRASHES else "lost"
    return {"status": status, "detail": f"the job's process was ended by signal {number}", "seconds": seconds}


def _relay(out: int, reply: int, child: int) -> bool:
    """Passes whole lines on from the fork until it ends; kills it if the parent ends before. Whether somebody hears."""
    poller = select.poll()
    poller.register(out, select.POLLIN)
    poller.register(sys.stdin.buffer.fileno(), 0)  # only its end
    pending = b""
    while True:
        for number, events in poller.poll():
            if number != out:
                if events & (select.POLLHUP | select.POLLERR | select.POLLNVAL):
                    os.kill(child, signal.SIGKILL)
                    return False
            elif data := os.read(out, 1 << 16):
                whole, newline, pending = (pending + data).rpartition(b"\n")
                _all_of(reply, whole + newline)
            else:
                return True


def _write(number: int, message: Json) -> None:
    _all_of(number, json.dumps(message).encode() + b"\n")


def _all_of(number: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]


def _limit_memory(megabytes: int) -> None:
    size = megabytes << 20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


__all__ = ["CRASHES", "Answer", "Clock", "Preparation", "seconds_left", "serve"]
