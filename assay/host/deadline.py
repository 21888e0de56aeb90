"""Deadlines of connections, which the other side cannot put off."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def cut_after(link: socket.socket, seconds: float) -> Iterator[threading.Event]:
    """Ends a connection from outside: a socket's own time-out begins again with each byte that comes."""
    cut = threading.Event()

    def end() -> None:
        cut.set()
        with contextlib.suppress(OSError):
            link.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield cut
    finally:
        timer.cancel()
