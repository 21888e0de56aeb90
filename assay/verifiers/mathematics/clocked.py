"""A limit on the processor time of a piece of work in a worker process, which survives it.

A process that is killed takes seconds to be replaced, because the libraries are imported anew: a hundred endless
answers would hold a step for minutes. The pool still kills a process that cannot be interrupted.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

AGAIN = 0.05  # seconds after which work that has swallowed the interruption is interrupted again

Result = TypeVar("Result")
_armed = False


class OutOfTime(BaseException):
    """The work has used up its time. Not an Exception, so that a library that catches those does not go on."""


def _ring(_: int, __: FrameType | None) -> None:
    if _armed:
        raise OutOfTime


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """The result of the work. Raises OutOfTime if it takes more than so many seconds of the processor."""
    signal.signal(signal.SIGVTALRM, _ring)
    try:
        _set(seconds)
        return work()
    finally:
        _stop()


def _set(seconds: float) -> None:
    global _armed
    _armed = True
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, AGAIN)


def _stop() -> None:
    global _armed
    while True:
        try:
            _armed = False
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
            return
        except OutOfTime:  # it rang while it was being stopped
            continue
