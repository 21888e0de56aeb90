"""Who is asked, while the processor is at work below Python, whether to stop.

A job of the core can last minutes. Python's own handlers run between its turns of waiting; a handler that only sets a
flag, for the loop to find at the next border of a phase, is heard here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_checks: list[Callable[[], None]] = []


@contextmanager
def asking(check: Callable[[], None]) -> Iterator[None]:
    """Inside, long work asks `check` several times a second; what it raises ends the work."""
    _checks.append(check)
    try:
        yield
    finally:
        _checks.remove(check)


def ask() -> None:
    for check in _checks:
        check()
