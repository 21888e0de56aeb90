"""A polite stop: the first SIGTERM or SIGINT sets a flag that the loop asks at phase borders, the second exits."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any, Self

from assay.errors import Stopped


class StopFlag:
    """`with StopFlag() as stop: ... stop.check()`. True once a stop was asked for."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # Python allows handlers nowhere else
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def __bool__(self) -> bool:
        return self.signal is not None

    def check(self) -> None:
        """Raise Stopped (exit code 75) if a stop was asked for."""
        if self.signal is not None:
            name = signal.Signals(self.signal).name
            raise Stopped(f"Stopped by {name}; `assay resume` continues from the last checkpoint.")

    def _handle(self, number: int, frame: object) -> None:
        if self.signal is not None:
            os._exit(128 + number)  # every commit is one rename, so any instruction is a safe place to leave
        self.signal = number
