"""A server that speaks as one of OpenEnv does, by the standard library: what is said to it comes back, for a point."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import socket
import struct
import threading
from typing import Any, BinaryIO, Self

SCHEMA = {
    "action": {
        "properties": {"message": {"type": "string"}, "metadata": {"type": "object"}},
        "required": ["message"],
    }
}
MOST = 9  # turns of a game
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class EchoServer:
    """`manner`: plain; `in pieces`, with pings between them; `long`, each echo fifty times."""

    def __init__(self, manner: str) -> None:
        self.manner, self.seeds = manner, list[int]()
        self.listener = socket.create_server(("localhost", 0))
        self.port = self.listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):  # the listener is closed
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError):
            lines = list(iter(lambda: stream.readline().strip(), b""))
            if b"/schema" in lines[0]:
                body = json.dumps(SCHEMA).encode()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                return
            (key,) = (line.split(b": ")[1] for line in lines if line.lower().startswith(b"sec-websocket-key"))
            accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
            for turn in range(MOST + 1):
                if (asked := self._read(stream)) is None or not self._answered(connection, asked, turn == MOST):
                    return

    def _answered(self, connection: socket.socket, asked: dict[str, Any], last_turn: bool) -> bool:
        """Answers a message; false where it hangs up."""
        said = asked["data"].get("message", "")
        if said == "hang up":
            connection.sendall(b"\x88\x00")
            return False
        if asked["type"] == "reset":
            self.seeds.append(asked["data"]["seed"])
        seen = {"observation": {"echo": f"heard {said * (50 if self.manner == 'long' else 1)}", "size": len(said)}}
        whole = {
            "type": "observation",
            "data": {**seen, "reward": 1.0 if said else None, "done": said == "end" or last_turn},
        }
        if said == "refuse":
            whole = {"type": "error", "data": {"message": "not now"}}
        payload = json.dumps(whole).encode()
        pieces = [payload[:5], payload[5:9], payload[9:]] if self.manner == "in pieces" else [payload]
        for place, piece in enumerate(pieces):
            last = 0x80 * (place == len(pieces) - 1)
            connection.sendall(self._head(last | (place == 0), len(piece)) + piece)
            if not last:
                connection.sendall(b"\x89\x02hi")
        return True

    def _head(self, first: int, size: int) -> bytes:
        if size < 126:
            return bytes([first, size])
        return struct.pack("!BBH", first, 126, size) if size < 1 << 16 else struct.pack("!BBQ", first, 127, size)

    def _read(self, stream: BinaryIO) -> dict[str, Any] | None:
        """The next text of the client, which must be masked; its pongs are passed over."""
        while True:
            head = stream.read(2)
            if len(head) < 2:
                return None
            kind, size = head[0] & 15, head[1] & 127
            assert head[1] & 128, "a client masks"
            if size > 125:
                size = int.from_bytes(stream.read(2 if size == 126 else 8), "big")
            mask, payload = stream.read(4), stream.read(size)
            text = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
            if kind == 1:
                return json.loads(text)
