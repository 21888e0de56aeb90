"""A server that behaves as vLLM does until it is asked for an answer, and then does what a test tells it to."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from assay.engine.remote.servers.vllm import VllmSite
from assay.engine.remote.transport.site import Expected


def answer(ids: list[int], *, finish: str = "length", logp: Any = -1.0, version: str = "0", **changes: Any) -> Any:
    """What vLLM says when it has written these ids."""
    content = [{"token_id": token, "logprob": logp} for token in ids]
    spans = [{"version": version, "start": 0, "end": len(ids)}]
    choice = {"index": 0, "token_ids": ids, "finish_reason": finish, "logprobs": {"content": content}}
    return {"choices": [{**choice, "weight_versions": spans, **changes}], "usage": {"prompt_tokens": 3}}


@dataclass
class Act:
    """What the server does with one request for an answer."""

    body: Any = None  # JSON, or bytes as they are
    status: int = 200
    drip: float = 0.0  # seconds between single bytes
    hang_up: bool = False
    endless: int = 0  # bytes that are sent after the body


@dataclass
class Hostile:
    """What to do with each request, in turn, the last one for all further; and what came."""

    acts: list[Act]
    well: bool = True  # whether it says so when asked for a sign of life
    asked: list[dict[str, Any]] = field(default_factory=list)
    address: str = ""
    asleep: threading.Event = field(default_factory=threading.Event)  # it takes connections, and says nothing
    lock: threading.Lock = field(default_factory=threading.Lock)

    def act(self, body: dict[str, Any]) -> Act:
        with self.lock:
            self.asked.append(body)
            return self.acts[min(len(self.asked), len(self.acts)) - 1]


class Plain(VllmSite):
    """A site that takes the server's word for what it is."""

    def examine(self, expected: Expected) -> str:
        return "0"


@contextlib.contextmanager
def misbehaving(*acts: Act | Callable[[], Act], well: bool = True) -> Iterator[Hostile]:
    hostile = Hostile([act if isinstance(act, Act) else act() for act in acts], well)

    def sleep() -> None:
        end = time.monotonic() + 20
        while hostile.asleep.is_set() and time.monotonic() < end:
            time.sleep(0.02)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: pytest shows what matters."""

        def do_GET(self) -> None:
            sleep()
            self.send_response(200 if hostile.well else 503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            if self.path in ("/lease", "/release"):
                self.do_GET()
                return
            sleep()
            act = hostile.act(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            if act.hang_up:
                self.connection.close()
                return
            data = act.body if isinstance(act.body, bytes) else json.dumps(act.body).encode()
            self.send_response(act.status)
            self.send_header("Content-Length", str(len(data) + act.endless))
            self.end_headers()
            with contextlib.suppress(OSError):
                if act.drip:
                    for at in range(len(data)):
                        self.wfile.write(data[at : at + 1])
                        time.sleep(act.drip)
                    return
                self.wfile.write(data)
                for _ in range(act.endless >> 20):
                    self.wfile.write(b" " * (1 << 20))

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 64

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Its clients hang up on purpose."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    hostile.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hostile
    finally:
        server.shutdown()
        server.server_close()
