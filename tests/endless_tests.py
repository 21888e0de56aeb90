"""A pytest plugin: ends a test that takes a minute of the processor, as one may that a mutant leaves without an end.

Time on the clock would say less: on a busy machine every test takes long.
"""

from __future__ import annotations

import signal
from collections.abc import Generator
from types import FrameType

import pytest

SECONDS = 60.0
AGAIN = 5.0  # after so many more, should the first time be swallowed


class Endless(BaseException):
    """No exception that the code under test may catch."""


def _end(number: int, frame: FrameType | None) -> None:
    raise Endless(f"more than {SECONDS:g} s of the processor")


def _limited() -> Generator[None]:
    signal.signal(signal.SIGPROF, _end)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, AGAIN)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None]:
    return (yield from _limited())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    return (yield from _limited())
