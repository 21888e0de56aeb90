"""The program of the watchdog's guard process: it interrupts its parent when a time limit is over, and later ends it.

The guard runs by its path and imports the standard library alone. It does not need the parent's interpreter, so it can
also end C code that never returns, such as a regular expression that tries everything. A line of JSON on standard input
begins a watch, and an empty line ends it. The other channel carries the numbers of the signals that the parent got.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from dataclasses import dataclass

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


@dataclass
class Watch:
    """One watch: when to interrupt the parent, when to end it, and what to print then."""

    until: float  # when to interrupt, by time.monotonic
    late: str  # printed if the time limit was over
    stopped: str  # printed if somebody asked for a stop
    grace: float  # seconds from the interrupt to the end
    polite: int  # the signal that interrupts the parent; 0 if a thread of the parent does it
    asked: bool = False  # whether somebody asked for a stop
    interrupted: bool = False

    def stop(self) -> None:
        """Somebody asked the parent to stop: interrupt it soon."""
        self.until, self.asked = min(self.until, time.monotonic() + self.grace), True

    @property
    def due(self) -> float:
        return self.until + (self.grace if self.interrupted else 0.0)


def main(parent: int, signals: int, last: int) -> None:
    """Guards the process `parent`. `signals` is the channel of its signals; `last` is the signal that ends it."""
    for number in (signal.SIGHUP, signal.SIGUSR1):  # a scheduler sends these to all processes of a job
        signal.signal(number, signal.SIG_IGN)
    watch: Watch | None = None
    pending = b""
    while True:
        wait = None if watch is None else max(0.0, watch.due - time.monotonic())
        ready, _, _ = select.select([0, signals], [], [], wait)
        if 0 in ready:
            data = os.read(0, 1 << 16)
            if not data:
                return
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                watch = Watch(**json.loads(line)) if line else None
        if signals in ready and any(number in STOPS for number in os.read(signals, 256)) and watch is not None:
            watch.stop()
        if watch is None or time.monotonic() < watch.due:
            continue
        if not watch.interrupted:
            watch.interrupted = True
            os.kill(parent, watch.polite)
        else:
            os.write(2, (watch.stopped if watch.asked else watch.late).encode())
            os.kill(parent, signal.SIGKILL if watch.asked else last)
            return


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
