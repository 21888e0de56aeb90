"""Stopping on a signal, or because the program asks for it: the first SIGTERM, SIGINT, SIGHUP or SIGUSR1 sets a flag
that a run checks between phases, the second exits.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any, Self

from assay.errors import Stopped
from assay.host.stops import STOPS


class StopFlag:
    """A flag that is true after the first signal: `with StopFlag() as stop: ... stop.check()`."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.asked = ""  # why the program itself wants to stop; "": it does not
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # Python allows signal handlers in no other thread
            for number in STOPS:
                if signal.getsignal(number) != signal.SIG_IGN:  # as `nohup` has it for SIGHUP
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def __bool__(self) -> bool:
        return self.signal is not None or bool(self.asked)

    def check(self) -> None:
        """Raises Stopped (exit code 75) after a signal, or if the program asked for it."""
        if self.asked:
            raise Stopped(f"Stopped: {self.asked}; `assay resume` continues from the last checkpoint.")
        if self.signal is not None:
            name = signal.Signals(self.signal).name
            raise Stopped(f"Stopped by {name}; `assay resume` continues from the last checkpoint.")

    def _handle(self, number: int, frame: object) -> None:
        if self.signal is not None:
            os._exit(128 + number)  # safe at any instruction, because a checkpoint is committed by a single rename
        self.signal = number
