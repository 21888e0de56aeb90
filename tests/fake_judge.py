"""A judge's server with a script of faults, and a clock that passes only when somebody sleeps."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from assay.rng import digest
from assay.verifiers.judges.endpoint import Endpoint

Script = Callable[[int, dict[str, Any]], "Act"]


@dataclass
class Act:
    """What the server does with one request."""

    status: int = 200
    text: str = ""  # what the model writes
    model: str = "fake-1"  # which the reply says has written it
    body: bytes | None = None  # instead of a completion
    headers: dict[str, str] = field(default_factory=dict)
    drip: float = 0.0  # seconds between single bytes of the body
    hang_up: bool = False


@dataclass
class Clock:
    """A clock that tests read: `now` is the sum of all sleeps."""

    time: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = script
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients of these tests hang up on purpose."""


class Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: pytest shows what matters."""

    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            count = len(server.bodies)
            server.bodies.append(asked)
            server.keys.append(self.headers.get("Authorization"))
        act = server.script(count, asked)
        if act.hang_up:
            self.connection.close()
            return
        whole = {"model": act.model, "choices": [{"message": {"role": "assistant", "content": act.text}}]}
        body = json.dumps(whole).encode() if act.body is None else act.body
        self.send_response(act.status)
        for name, value in {"Content-Length": str(len(body)), **act.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if not act.drip:
            self.wfile.write(body)
            return
        for place in range(len(body)):
            self.wfile.write(body[place : place + 1])
            self.wfile.flush()
            time.sleep(act.drip)


@contextlib.contextmanager
def serving(script: Script | Sequence[Act]) -> Iterator[Server]:
    """A server on the loopback; a script as a list is one act for each request, the last one for all further ones."""
    acts = None if callable(script) else list(script)
    act: Script = script if callable(script) else lambda count, _: (acts or [])[min(count, len(acts or []) - 1)]
    server = Server(act)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def endpoint(server: Server, **changes: Any) -> Endpoint:
    return Endpoint(**{"url": server.url, "model": "fake", "read": 5.0, **changes})


BLOCK = re.compile(r"<<<([0-9a-f]{16}) ([a-zA-Z ]+)>>>\n(.*?)\n<<<\1 end>>>", re.DOTALL)


def blocks(asked: dict[str, Any]) -> dict[str, str]:
    """Label -> text of the blocks of a request."""
    return {label: text for _, label, text in BLOCK.findall(asked["messages"][1]["content"])}


def plain(count: int, asked: dict[str, Any]) -> Act:
    """A judge for runs of any recipe. It passes the self-test of a judge; in the task of letters (tiny.py) it knows
    which responses are right, and tells others apart by a digest.
    """
    found = blocks(asked)
    text = asked["messages"][1]["content"]
    if '{"verdict"' in text:
        same = found["candidate"] in (found["reference answer"], "four")
        return Act(text=json.dumps({"verdict": same}))
    if '{"winner"' in text:
        first, second = (merit(found["problem"], found[f"response {side}"]) for side in "AB")
        return Act(text=json.dumps({"winner": "tie" if first == second else "A" if first > second else "B"}))
    if '{"met"' in text:
        lines = [line for line in found["criteria"].splitlines() if re.match(r"\d+\. ", line)]
        return Act(text=json.dumps({"met": [merit(found["problem"], found["candidate"], line) >= 5 for line in lines]}))
    if '{"tiers"' in text:
        lines = [line for line in found["criteria"].splitlines() if re.match(r"\d+\. ", line)]
        most = [int(re.findall(r"[(;] ?(\d+): ", line)[-1]) for line in lines]
        merits = [merit(found["problem"], found["candidate"], line) for line in lines]
        return Act(text=json.dumps({"tiers": [1 + one * (n - 1) // 9 for one, n in zip(merits, most, strict=True)]}))
    return Act(text=json.dumps({"rating": 1 + merit(found["problem"], found["candidate"])}))


def merit(problem: str, response: str, criterion: str = "") -> int:
    """0 to 9."""
    if len(problem) == 1:
        return 9 if problem in response else 0
    return int(digest(response, criterion), 16) % 10
