"""A time limit for reward functions that run in this process. They cannot be killed alone, so they are interrupted.

The interrupt is an exception raised inside the function, so a program or a notebook goes on after it. A function that
is deep in C code, or that catches every exception, cannot be interrupted. Then the whole process is ended, with the
exit code of such an error. That is safe at any instruction, because a run commits each step by one rename.
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

GRACE = 5.0  # seconds from a request to stop to the interrupt, and from the interrupt to the end of the process
POLITE = signal.SIGRTMAX - 1
LAST = signal.SIGRTMAX


class Interrupted(BaseException):
    """Raised in a function whose time is over. Not an Exception, so that `except Exception` does not catch it."""


class Watchdog:
    """Limits the time of functions in this process, with the help of a small guard process beside it.

    Example:
        with watchdog.watching("the reward function 'accuracy'", seconds=60.0):
            accuracy(completions)  # Interrupted is raised here after 60 seconds

    The guard process starts with the first watch, and ends with this process or with `close`.
    """

    def __init__(self, grace: float = GRACE) -> None:
        self.grace = grace
        self._process: subprocess.Popen[bytes] | None = None
        self._signals = -1  # the end of a pipe through which the guard hears of signals
        self._armed = False

    @contextlib.contextmanager
    def watching(self, what: str, seconds: float) -> Iterator[None]:
        """Inside the block, `what` may work for `seconds`; then Interrupted is raised in the block."""
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
        """Interrupts the main thread by a signal, and tells the guard of requests to stop.

        The guard hears of them through Python's wakeup pipe, which works even while
        the interpreter is busy in C code. The handler of the interrupting signal is
        never removed: a signal that arrives late would end a program without one.
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
    """Interrupts a thread other than the main thread, which signals do not reach."""
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
    """The signal that ends this process with the exit code of a DataError, even while the interpreter is busy.

    A handler is called with its signal's number, and the number of the last real-time signal happens to be that exit
    code. So the C library's `_exit` itself can be the handler. On systems with other numbers, the signal is SIGKILL.
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
