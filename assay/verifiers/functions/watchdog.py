"""Watches functions that run in this process, and that nobody can kill: they are interrupted, and if that does not
take, the process is ended with the exit code that such a fault has.

The interrupt is an exception in the function: a program or a notebook goes on behind it. Only a function that is deep
in C, or catches everything, ends the process, for nothing else is left; every commit of a run is one rename, so that
any instruction is a safe place to leave.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.host.terminal import plain
from assay.verifiers.functions import guard

GRACE = 5.0  # seconds between a stop or a deadline, the interrupt, and the end
POLITE = signal.SIGRTMAX - 1
LAST = signal.SIGRTMAX


class Interrupted(BaseException):
    """In a function whose time is over. No Exception, so that a function does not take it for one of its own."""


class Watchdog:
    """A small process beside this one. It starts with the first watch, and ends with this process or with `close`."""

    def __init__(self, grace: float = GRACE) -> None:
        self.grace = grace
        self._process: subprocess.Popen[bytes] | None = None
        self._signals = -1  # where the numbers of signals go
        self._armed = False

    @contextlib.contextmanager
    def watching(self, what: str, seconds: float) -> Iterator[None]:
        """Inside, `what` is at work for at most so long. Raises Interrupted there."""
        self._start()
        again = "A run that was under way goes on with `assay resume`.\n"
        late = f"DataError: {what} did not return within {seconds:g} s (--reward-timeout), and cannot be interrupted."
        stopped = f"Stopped: {what} did not return when a stop was asked for, and cannot be interrupted."
        watch = {"late": plain(f"{late} {again}"), "stopped": plain(f"{stopped} {again}"), "grace": self.grace}
        main = threading.current_thread() is threading.main_thread()
        with self._by_signal() if main else _by_timer(seconds):
            self._tell({**watch, "until": time.monotonic() + seconds, "polite": POLITE if main else 0})
            try:
                self._armed = True
                yield
            finally:
                self._armed = False
                self._tell(None)

    def close(self) -> None:
        if self._process is not None:
            self._finish()
            self._process = None

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        read, self._signals = os.pipe()
        os.set_blocking(self._signals, False)
        numbers = [os.getpid(), read, _last()]
        command = [sys.executable, "-I", "-S", str(Path(guard.__file__)), *map(str, numbers)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(read,), start_new_session=True)
        os.close(read)
        self._finish = weakref.finalize(self, _end, self._process, self._signals)

    def _tell(self, watch: dict[str, Any] | None) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write((json.dumps(watch) if watch else "").encode() + b"\n")
        self._process.stdin.flush()

    @contextlib.contextmanager
    def _by_signal(self) -> Iterator[None]:
        """The guard hears of stops from the handler in C, which runs even while Python does not. The handler of the
        interrupt stays: a signal that was sent at the last moment would end a program that has none.
        """
        signal.signal(POLITE, self._interrupt)
        other = signal.set_wakeup_fd(self._signals, warn_on_full_buffer=False)
        if other != -1:
            signal.set_wakeup_fd(other)  # an event loop listens already
        try:
            yield
        finally:
            if other == -1:
                signal.set_wakeup_fd(-1)

    def _interrupt(self, number: int, frame: object) -> None:
        if self._armed:
            raise Interrupted


@contextlib.contextmanager
def _by_timer(seconds: float) -> Iterator[None]:
    """Of a thread that signals do not reach."""
    thread = ctypes.c_ulong(threading.get_ident())
    raised = ctypes.py_object(Interrupted)
    timer = threading.Timer(seconds, lambda: ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, raised))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _last() -> int:
    """The signal that ends this process. A handler is called with the number of its signal, and that of the last one is
    the exit code of bad data: so `_exit` of the C library can be the handler, for which Python need not have its turn.
    """
    if int(LAST) != DataError.exit_code:
        return signal.SIGKILL
    library = ctypes.CDLL(None)
    library.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    library.signal.restype = ctypes.c_void_p
    library.signal(int(LAST), ctypes.cast(library._exit, ctypes.c_void_p))
    return LAST


def _end(process: subprocess.Popen[bytes], signals: int) -> None:
    with contextlib.suppress(OSError):
        assert process.stdin is not None
        process.stdin.close()
    process.kill()
    process.wait()
    os.close(signals)
