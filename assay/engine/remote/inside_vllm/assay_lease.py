"""What lets a vLLM server be one run's alone: `--middleware assay_lease.Lease`.

The folder of this file is on the server's PYTHONPATH. The server has an environment of its own, without Assay: nothing
of Assay is imported here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


class Lease:
    """`POST /lease {"run": R, "seconds": S}` takes or renews the server for a run, `POST /release {"run": R}` ends
    that; 409 while another run has it. A lease that is not renewed ends by itself.

    All other requests go on to the application.
    """

    def __init__(self, app: Application) -> None:
        self.app = app
        self.run, self.until = "", 0.0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in ("/lease", "/release"):
            await self.app(scope, receive, send)
            return
        status, said = self._answer(scope["path"], await _body(receive))
        content = json.dumps(said).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

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


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body
