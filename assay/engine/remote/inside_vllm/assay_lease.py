"""A middleware that gives a vLLM server to one run and asks for its secret: `--middleware assay_lease.Lease`.

The folder of this file is on the server's PYTHONPATH. The server has an environment of its own, without Assay: nothing
of Assay is imported here.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

from assay_door import ASKED, OPEN, Refusal, refusal, secret_given

LARGEST = 1 << 20  # bytes of a body that is read here
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


class Lease:
    """`POST /lease {"run": R, "seconds": S}` takes or renews the server for a run, `POST /release {"run": R}` ends
    that; 409 while another run has it. A lease that is not renewed ends by itself.

    All other requests go on to the application. vLLM's own `--api-key` guards the paths of answers and not those of
    training, so the secret is asked for here; only `GET /health` is open to all.
    """

    def __init__(self, app: Application) -> None:
        self.app = app
        self.run, self.until = "", 0.0
        self.secret, self.names = secret_given(os.environ), {"localhost", socket.gethostname()}
        if not self.secret:
            raise ValueError(f"a server asks for a secret: set {ASKED}.")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif why := self._refusal(scope):
            await _say(send, why[0], {"error": {"message": why[1]}})
        elif scope["method"] == "POST" and scope["path"] in ("/lease", "/release"):
            await _say(send, *self._answer(scope["path"], await _body(receive)))
        elif scope["path"] == "/init_weight_transfer_engine":
            await self._begin(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _refusal(self, scope: Message) -> Refusal | None:
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        secret = "" if scope["method"] == "GET" and scope["path"] == OPEN else self.secret
        if why := refusal(headers, secret=secret, names=self.names):
            return why
        if scope["method"] == "POST" and headers.get("content-type", [""])[0].partition(";")[0] != "application/json":
            return 415, "a body is application/json."
        return None

    async def _begin(self, scope: Message, receive: Receive, send: Send) -> None:
        """Lets the server connect to the machine that sent the request, and to no other."""
        body, peer = await _body(receive), (scope.get("client") or ("",))[0]
        try:
            host = (json.loads(body).get("init_info") or {}).get("host") or peer
        except (ValueError, AttributeError):
            host = None
        if host != peer:
            told = f"weights come from the run itself, which asks from {peer}, not from {host!r}."
            await _say(send, 400, {"error": {"message": told}})
            return
        left = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return left.pop() if left else await receive()

        await self.app(scope, again, send)

    def _answer(self, path: str, body: bytes) -> tuple[int, Message]:
        try:
            told = json.loads(body)
            run, seconds = str(told["run"]), float(told.get("seconds", 0.0))
        except (ValueError, TypeError, KeyError, AttributeError):
            return 400, {"error": {"message": "a lease names its run and its seconds."}}
        now = time.monotonic()
        if now < self.until and run != self.run:
            told = f"this server is used by the run {self.run}. End that run, or name another server."
            return 409, {"error": {"message": told}}
        self.run, self.until = run, now + seconds if path == "/lease" else 0.0
        return 200, {"run": run}


async def _say(send: Send, status: int, said: Message) -> None:
    content = json.dumps(said).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _body(receive: Receive) -> bytes:
    """A short body. A longer one is cut, and is no JSON then."""
    body, more = b"", True
    while more and len(body) <= LARGEST:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body[:LARGEST]
