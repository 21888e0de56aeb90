"""The HTTP interface of a served engine: its requests and its replies."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from assay.engine.interface import Span
from assay.engine.remote.inside_vllm.assay_door import ASKED, OPEN, refusal
from assay.engine.remote.servers.connections import Connections, Turned, size_of
from assay.engine.remote.servers.served_engine import Call, ServedEngine, Taken, Unready
from assay.engine.remote.transport.messages import answer, asked, packed, token_ids
from assay.engine.remote.weights.receive import TRANSPORTS, Transport, from_files
from assay.engine.sampling_call import Limits, check
from assay.errors import ConfigError, DataError

VERSION = "assay-1"  # of the messages between sampler and server
LEASE = 30.0  # seconds without a renewal after which a lease ends
PAUSE = 600.0  # seconds that a pause waits for the call under way
LINGER = 0.5  # seconds in which a client that is turned away can read why; what it still sends is thrown away
THROWN = 1 << 20  # bytes that are thrown away at most

Reply = Mapping[str, Any]


class Server(ThreadingHTTPServer):
    """Listens at an address for requests to a `ServedEngine`, and answers those that name its secret.

    Example:
        server = Server(served, facts, secret=secrets.token_hex(32))
        threading.Thread(target=server.serve_forever, daemon=True).start()
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(
        self, served: ServedEngine, facts: Mapping[str, Any], *, secret: str, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        if not secret:
            raise ConfigError(f"a server asks for a secret: set {ASKED}.")
        super().__init__((host, port), Handler)
        self.secret, self.names = secret, frozenset({host, "localhost", socket.gethostname()})
        self.connections = Connections()
        self.served, self.facts = served, dict(facts)
        self.transport: Transport = from_files

    @property
    def address(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.enter(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.leave(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        self.connections.sweep()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error of the server; all else stands in its log."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    timeout = 60.0  # seconds without a byte from a client, or to it

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a run asks thousands of times."""

    def do_GET(self) -> None:
        self._answer(GETS)

    def do_POST(self) -> None:
        self._answer(POSTS)

    def _answer(self, routes: Mapping[str, Callable[[Handler, Any], Reply | None]]) -> None:
        path = urlsplit(self.path).path
        try:
            body = self._body(self._admitted(path))
            if path not in routes:
                self._say({"error": {"message": f"there is no {self.command} {path}", "type": "NotFound"}}, 404)
            elif (reply := routes[path](self, body)) is not None:
                self._say(reply)
        except Turned as turned:
            self._say(_error(turned), turned.status)
            self._throw_away()
        except Taken as taken:
            self._say(_error(taken), 409)
        except Unready as unready:
            self._say(_error(unready), 503)
        except (DataError, ConfigError) as wrong:
            self._say(_error(wrong), 400)
        except OSError:
            raise
        except Exception as error:  # told to the client that asked
            self._say(_error(error), 500)

    def _admitted(self, path: str) -> int:
        """The size of a request's body in bytes. Raises `Turned` if its head shows that the request is not answered."""
        headers: dict[str, list[str]] = {}
        for name, value in self.headers.items():
            headers.setdefault(name.lower(), []).append(value)
        open_to_all = self.command == "GET" and path == OPEN
        if why := refusal(headers, secret="" if open_to_all else self.home.secret, names=self.home.names):
            raise Turned(*why)
        size = size_of(self.command, self.headers)
        if not open_to_all:
            self.home.connections.known(self.connection)
        return size

    def _body(self, size: int) -> Any:
        data = self.rfile.read(size)
        if len(data) < size:
            raise Turned(400, f"the body ends after {len(data):,} of {size:,} bytes.")
        self.home.connections.heard(self.connection)
        try:
            body = json.loads(data) if data else {}
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise DataError("the body of a request is a JSON object.")
        return body

    def _throw_away(self) -> None:
        """Reads for a moment what the client still sends. Otherwise the system would take the reply back from it."""
        self.connection.settimeout(LINGER)
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            left = THROWN
            while left > 0 and (data := self.connection.recv(1 << 16)):
                left -= len(data)

    @property
    def home(self) -> Server:
        assert isinstance(self.server, Server)
        return self.server

    def _say(self, reply: Reply, status: int = 200) -> None:
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @property
    def query(self) -> dict[str, str]:
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.path).query).items()}

    # Asking

    def generate(self, body: Any) -> Reply | None:
        served, own = self.home.served, _mapping(body, "assay")
        served.lease.require(str(own.get("run", "")))
        many = body.get("requests")
        bodies = [body] if many is None else many
        if not isinstance(bodies, list) or not bodies:
            raise DataError("requests is a list of at least one request.")
        pairs = [asked(entry, rows=self.home.facts["rows"]) for entry in bodies]
        if len({key.hex for _, key in pairs}) > 1:
            raise DataError("the requests of one call draw from one key; ask for others in a call of their own.")
        engine = served.engine
        check([request for request, _ in pairs], Limits(engine.context, engine.end_ids, 0, engine.decode))
        requests, keeping = [request for request, _ in pairs], str(own.get("keeping", ""))
        call = Call(requests, pairs[0][1], single=many is None, keeping=keeping)
        served.submit(call)
        return self._one(call) if many is None else self._lines(call)

    def _one(self, call: Call) -> Reply:
        served = self.home.served
        found = [item[1] for item in served.answers(call) if item is not None]
        return answer(found[0], call.requests[0], weights=call.weights, plain=True)

    def _lines(self, call: Call) -> None:
        """Sends answers as they come. Empty lines between them show the client that the server lives, and show the
        server that the client lives.
        """
        served, begun = self.home.served, False
        answers = served.answers(call)
        try:
            for item in answers:
                if not begun:
                    begun = True
                    self.send_response(200)
                    self.send_header("Content-Type", "application/x-ndjson")
                    self.end_headers()
                if item is None:
                    self.wfile.write(b"\n")
                    continue
                index, made = item
                line = answer(made, call.requests[index], weights=call.weights, plain=False)
                self._line({"place": index, **line})
            self._line({"end": True, "prefilled": call.prefilled})
        except OSError:
            call.dropped = True
            raise
        except Exception as error:
            if not begun:
                raise
            self._line(_error(error))

    def _line(self, content: Reply) -> None:
        self.wfile.write(json.dumps(content).encode() + b"\n")

    def score(self, body: Any) -> Reply:
        spans, rows = body.get("spans"), self.home.facts["rows"]
        if not isinstance(spans, list) or not all(isinstance(one, dict) for one in spans):
            raise DataError("spans is a list of objects with context and ids.")
        given = [Span(token_ids(one.get("context"), rows=rows), token_ids(one.get("ids"), rows=rows)) for one in spans]
        return {"logp": [packed(one.logp) for one in self.home.served.score(given, PAUSE)]}

    # Facts

    def health(self, body: Any) -> Reply:
        return {}

    def version(self, body: Any) -> Reply:
        return {"version": VERSION}

    def models(self, body: Any) -> Reply:
        facts = self.home.facts
        engine = self.home.served.engine
        own = {**facts, "version": engine.version, "prefilled": engine.prefilled, "pid": os.getpid()}
        one = {"id": facts["model"], "object": "model", "max_model_len": facts["context"], "assay": own}
        return {"object": "list", "data": [one]}

    def weight_info(self, body: Any) -> Reply:
        return {"weight_version": self.home.served.label}

    def is_paused(self, body: Any) -> Reply:
        return {"is_paused": self.home.served.paused}

    # Control

    def claim(self, body: Any) -> Reply:
        run, seconds = str(body.get("run", "")), float(body.get("seconds", LEASE))
        if not run or not 0 < seconds <= 3600:
            raise DataError("a lease names its run, and lasts for up to 3600 seconds.")
        self.home.served.lease.take(run, seconds)
        return {"run": run}

    def release(self, body: Any) -> Reply:
        self.home.served.lease.release(str(body.get("run", "")))
        self.home.served.resume()
        return {}

    def _run_of(self, body: Any) -> str:
        """The run that gives an order, which must be that of the lease, if there is one."""
        run = self.query.get("run") or str(_mapping(body, "assay").get("run", ""))
        self.home.served.lease.require(run)
        return run

    def _holder_of(self, body: Any) -> str:
        """The run that gives an order about weights, which must have the lease."""
        run = self._run_of(body)
        if not run or self.home.served.lease.holder() != run:
            raise Taken("weights are taken from the run that has the lease: POST /lease with its name comes first.")
        return run

    def pause(self, body: Any) -> Reply:
        """Ends no answer: in every mode the call under way is finished. Calls that wait go on waiting; mode `abort`
        gives them up.
        """
        run = self._run_of(body)
        if self.query.get("mode") == "abort":
            self.home.served.drop(set())
        self.home.served.pause(PAUSE, run)
        return {"status": "paused"}

    def resume(self, body: Any) -> Reply:
        self._run_of(body)
        self.home.served.resume()
        return {"status": "resumed"}

    def abort(self, body: Any) -> Reply:
        self._run_of(body)
        given_up, running = self.home.served.drop(set(map(str, body.get("request_ids") or ())))
        return {"status": "aborted", "aborted": len(given_up), "running": running}

    def end(self, body: Any) -> Reply:
        self._run_of(body)
        threading.Thread(target=self.home.shutdown, daemon=True).start()
        return {"status": "ending"}

    # Weights

    def init_weights(self, body: Any) -> Reply:
        self._holder_of(body)
        told = _mapping(body, "init_info")
        name = told.get("backend", "files")
        if name not in TRANSPORTS:
            raise DataError(f"the backend of weights is one of {', '.join(TRANSPORTS)}, not {name!r}.")
        if (host := told.get("host", self.client_address[0])) != self.client_address[0]:
            raise DataError(
                f"weights come from the run itself, which asks from {self.client_address[0]}, not from {host!r}."
            )
        self.home.transport = TRANSPORTS[name](told)
        return {"message": "Weight transfer initialized"}

    def start_weights(self, body: Any) -> Reply:
        self.home.served.begin_weights(PAUSE, self._holder_of(body))
        return {"message": "Weight update started"}

    def update_weights(self, body: Any) -> Reply:
        self._holder_of(body)
        self.home.served.take_weights(self.home.transport(_mapping(body, "update_info")))
        return {"message": "Weights updated"}

    def finish_weights(self, body: Any) -> Reply:
        self._holder_of(body)
        label = str(body.get("weight_version", ""))
        if not label.isdecimal():
            raise DataError(f"weight_version is the number of the version, not {label!r}.")
        self.home.served.end_weights(int(label), label)
        return {"message": "Weight update finished"}

    def check_weights(self, body: Any) -> Reply:
        if body.get("action") != "checksum":
            raise DataError("the action of /weight_checker is checksum.")
        return {"checksums": self.home.served.sums or self.home.served.receiver.checksums()}


def _mapping(body: Any, name: str) -> Mapping[str, Any]:
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def _error(error: Exception) -> Reply:
    return {"error": {"message": str(error) or type(error).__name__, "type": type(error).__name__}}


GETS: dict[str, Callable[[Handler, Any], Reply | None]] = {
    "/health": Handler.health,
    "/version": Handler.version,
    "/v1/models": Handler.models,
    "/weight_info": Handler.weight_info,
    "/is_paused": Handler.is_paused,
}
POSTS: dict[str, Callable[[Handler, Any], Reply | None]] = {
    "/inference/v1/generate": Handler.generate,
    "/score": Handler.score,
    "/lease": Handler.claim,
    "/release": Handler.release,
    "/pause": Handler.pause,
    "/resume": Handler.resume,
    "/abort_requests": Handler.abort,
    "/end": Handler.end,
    "/init_weight_transfer_engine": Handler.init_weights,
    "/start_weight_update": Handler.start_weights,
    "/update_weights": Handler.update_weights,
    "/finish_weight_update": Handler.finish_weights,
    "/weight_checker": Handler.check_weights,
}
