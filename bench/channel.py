"""What a measured process says to the one that measures: one JSON line an event on the real standard output.

The process says `ready` when it can take a step, waits for a line before each step, and answers with a `step` event. It
ends when its input closes. Whatever libraries print goes to the standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass
from typing import Any

from bench.workload import ENDINGS, SHAPES, Ending, Shape


class Closed(Exception):
    """No further step is wanted."""


@dataclass(frozen=True)
class Job:
    """What a worker is told on its command line; `options` is the system's own configuration."""

    shape: Shape
    ending: Ending
    steps: int
    options: dict[str, Any]


class Channel:
    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)
        self._before = 0.0

    def _say(self, **event: Any) -> None:
        self._out.write(json.dumps(event) + "\n")

    def ready(self, **facts: Any) -> None:
        self._say(event="ready", facts=facts, peak_mb=peak_mb())

    def wait(self) -> float:
        """The clock at the moment when the next step may begin."""
        if not sys.stdin.readline():
            raise Closed
        self._before = time.process_time()
        return time.perf_counter()

    def step(self, seconds: float, **numbers: float) -> None:
        """`seconds` by the clock; those of the processor, of all threads, are added."""
        spent = time.process_time() - self._before
        self._say(event="step", seconds=seconds, processor_s=spent, peak_mb=peak_mb(), **numbers)


def peak_mb() -> float:
    """The largest resident size this process has had."""
    with open("/proc/self/status") as status:  # noqa: PTH123  a proc file
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return float("nan")


def job() -> Job:
    parser = argparse.ArgumentParser(description="A process of a measurement; started by `python -m bench.run`.")
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--ending", choices=ENDINGS, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--options", type=json.loads, default={}, help="JSON")
    given = parser.parse_args()
    return Job(SHAPES[given.shape], given.ending, given.steps, given.options)
