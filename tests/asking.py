"""Clients of a server that speaks OpenAI's interface, on the standard library alone."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class Client:
    """Asks a server, with a token."""

    address: str
    token: str = ""

    def open(self, path: str, body: Any = None, **headers: str) -> http.client.HTTPConnection:
        """A connection on which a request was sent, and whose answer nobody has read yet."""
        place = urlsplit(self.address)
        assert place.hostname is not None
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=20)
        named = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body)
        connection.request("GET" if data is None else "POST", place.path + path, data, {**named, **headers})
        return connection

    def ask(self, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """(the status, the object that came)."""
        connection = self.open(path, body, **headers)
        reply = connection.getresponse()
        content = json.loads(reply.read())
        connection.close()
        return reply.status, content

    def chat(self, text: str, **more: Any) -> tuple[int, Any]:
        return self.ask(CHAT, {"messages": [{"role": "user", "content": text}], **more})


def events(reply: http.client.HTTPResponse) -> Iterator[Mapping[str, Any] | str]:
    """The events of a stream: objects, and the mark of its end."""
    while line := reply.readline():
        if line.startswith(b"data: "):
            text = line.removeprefix(b"data: ").strip().decode()
            yield text if text == "[DONE]" else json.loads(text)
