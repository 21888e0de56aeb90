"""A client of WebSockets (RFC 6455) for texts, of the standard library alone.

with WebSocket("localhost", 8000, "/ws") as socket:
    socket.send("{}")
    answer = socket.receive()
"""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import struct

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # of the protocol, the same for all
_MOST = 1 << 24  # bytes of a message
_CONTINUED, _TEXT, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x8, 0x9, 0xA


class WebSocketError(OSError):
    """The other side is gone, or does not speak the protocol."""


def accepts(key: str) -> str:
    """What a server answers to this key of a client."""
    return base64.b64encode(hashlib.sha1((key + _GUID).encode()).digest()).decode()


def frame(kind: int, payload: bytes, mask: bytes) -> bytes:
    """A whole message of a client, whose bytes are masked as the protocol demands."""
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", 0x80 | kind, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, size)
    pad = int.from_bytes(mask * (size // 4 + 1), "big") >> (8 * (4 - size % 4))
    return head + mask + (int.from_bytes(payload, "big") ^ pad).to_bytes(size, "big")


class WebSocket:
    """An open connection."""

    def __init__(self, host: str, port: int, path: str, *, seconds: float = 60.0) -> None:
        self.socket = socket.create_connection((host, port), timeout=seconds)
        self.stream = self.socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        asked = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        self.socket.sendall(f"{asked}Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        status, *lines = iter(lambda: self.stream.readline(1 << 16).decode("latin-1").strip(), "")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if " 101 " not in f"{status} " or headers.get("sec-websocket-accept") != accepts(key):
            self.close()
            raise WebSocketError(f"{host}:{port}{path} is no WebSocket: {status[:80]}")

    def __enter__(self) -> WebSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, text: str) -> None:
        self._send(_TEXT, text.encode())

    def _send(self, kind: int, payload: bytes) -> None:
        self.socket.sendall(frame(kind, payload, os.urandom(4)))

    def receive(self) -> str:
        """The next text. Pings are answered; a message may come in several frames."""
        whole = b""
        while True:
            first, second = self._read(2)
            kind, size = first & 0x0F, second & 0x7F
            if size > 125:
                size = int.from_bytes(self._read(2 if size == 126 else 8), "big")
            if size + len(whole) > _MOST or second & 0x80:
                raise WebSocketError("the server sent a message that is too long, or masked")
            payload = self._read(size)
            if kind == _PING:
                self._send(_PONG, payload)
            elif kind == _CLOSE:
                raise WebSocketError("the server has closed the connection")
            elif kind in (_TEXT, _CONTINUED):
                whole += payload
                if first & 0x80:
                    return whole.decode()
            elif kind != _PONG:
                raise WebSocketError("the server sent bytes in place of a text")

    def _read(self, count: int) -> bytes:
        read = self.stream.read(count)
        if len(read) < count:
            raise WebSocketError("the server has ended the connection")
        return read

    def close(self) -> None:
        """Ends the connection. It may be called twice."""
        self.stream.close()
        self.socket.close()
