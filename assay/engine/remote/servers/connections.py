"""The connections of a server: how many there may be, for how long, and how much each may send.

A connection is a stranger until its head has named the secret. There are places for few strangers. If more come, each
has a moment before the oldest makes room for the newest. So strangers cost few threads, and keep nobody out.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from email.message import Message

LARGEST = 1 << 30  # bytes of a request: a whole step's prompts
STRANGERS = 64
MOST = 256  # connections that have named the secret
MOMENT = 0.5  # seconds that a stranger has if others wait for its place
HEAD = 10.0  # seconds in which a head must have come
BODY = 300.0  # seconds in which a body must have come after it


class Turned(Exception):
    """A request that is not answered, with the status that says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Connections:
    """The connections of a server.

    connections = Connections()
    connections.enter(link)  # waits for a place
    connections.known(link); connections.heard(link); connections.leave(link)
    """

    def __init__(self, *, strangers: int = STRANGERS, most: int = MOST) -> None:
        self.strangers, self.most = strangers, most
        self._new: dict[socket.socket, float] = {}  # connection -> when it came, oldest first
        self._known: dict[socket.socket, float | None] = {}  # connection -> when all of its body must have come
        self._change = threading.Condition()

    def enter(self, link: socket.socket) -> None:
        with self._change:
            while len(self._new) >= self.strangers:
                oldest, came = next(iter(self._new.items()))
                left = came + MOMENT - time.monotonic()
                if left <= 0:
                    del self._new[oldest]
                    _cut(oldest)
                else:
                    self._change.wait(left)
            self._new[link] = time.monotonic()

    def known(self, link: socket.socket) -> None:
        """The connection has named the secret."""
        with self._change:
            if self._new.pop(link, None) is None:
                raise Turned(503, "the connection had to make room for another one.")
            self._change.notify_all()
            if len(self._known) >= self.most:
                raise Turned(503, f"this server has {self.most} connections: no more are taken.")
            self._known[link] = time.monotonic() + BODY

    def heard(self, link: socket.socket) -> None:
        """All of its body has come."""
        with self._change:
            if link in self._known:
                self._known[link] = None

    def leave(self, link: socket.socket) -> None:
        with self._change:
            self._new.pop(link, None)
            self._known.pop(link, None)
            self._change.notify_all()

    def sweep(self) -> None:
        """Ends the connections whose time is up."""
        now = time.monotonic()
        with self._change:
            late = [link for link, came in self._new.items() if now > came + HEAD]
            late += [link for link, until in self._known.items() if until is not None and now > until]
        for link in late:
            _cut(link)


def _cut(link: socket.socket) -> None:
    with contextlib.suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)


def size_of(method: str, headers: Message, *, most: int = LARGEST) -> int:
    """How many bytes of a body come, by the head of a request. `Turned` for a body that is none of ours."""
    if headers.get_all("Transfer-Encoding"):
        raise Turned(411, "a body comes whole, with the header Content-Length; Transfer-Encoding is not understood.")
    lengths = headers.get_all("Content-Length", [])
    if method != "POST":
        if lengths and lengths != ["0"]:
            raise Turned(400, f"a {method} has no body.")
        return 0
    if len(lengths) != 1:
        raise Turned(411 if not lengths else 400, "a POST says how long its body is: one header Content-Length.")
    if headers.get_content_type() != "application/json" or "Content-Type" not in headers:
        raise Turned(415, f"a body is application/json, not {headers.get('Content-Type')!r}.")
    text = lengths[0].strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= 20):
        raise Turned(400, f"Content-Length is a number of bytes, not {text[:40]!r}.")
    if int(text) > most:
        raise Turned(413, f"a request has at most {most:,} bytes, not {int(text):,}.")
    return int(text)
