"""The program of the watchdog's process: it counts while its parent is at work, and ends what does not end.

It is started by its path, knows nothing but the standard library, and needs no turn of the parent's interpreter: work
in C that never comes back, such as a regular expression that tries everything, is ended as well. A line of JSON on
standard input begins a watch, an empty one ends it; the bytes of the other channel are numbers of signals that the
parent got.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from dataclasses import dataclass

STOPS = (signal.SIGINT, signal.SIGTERM)


@dataclass
class Watch:
    """What is to be done when: the parent is interrupted, and later ended with some last words."""

    until: float  # of time.monotonic
    late: str
    stopped: str
    grace: float
    polite: int  # the signal that raises in the parent; 0 where something else does that
    asked: bool = False
    interrupted: bool = False

    def stop(self) -> None:
        """Somebody asked for a stop."""
        self.until, self.asked = min(self.until, time.monotonic() + self.grace), True

    @property
    def due(self) -> float:
        return self.until + (self.grace if self.interrupted else 0.0)


def main(parent: int, signals: int, last: int) -> None:
    """`last` is the signal that ends the parent."""
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
