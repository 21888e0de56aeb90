"""Stopping work of the compiled core before it is done.

A call of the core can last minutes. Signal handlers of Python run while Python waits for the core, but the run's own
handler only sets a flag, which the loop reads at the next border of a phase. While Python waits it calls `ask`, which
reads such flags several times a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_checks: list[Callable[[], None]] = []


@contextmanager
def asking(check: Callable[[], None]) -> Iterator[None]:
    """Inside this context, long work calls `check` several times a second; an exception from `check` ends the work."""
    _checks.append(check)
    try:
        yield
    finally:
        _checks.remove(check)


def ask() -> None:
    """Calls the checks of all contexts that are open now."""
    for check in _checks:
        check()
