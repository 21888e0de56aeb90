"""HTTP exchanges with a server, by the standard library. Each ends at its deadline, even if the server never ends it.

Errors name the server. `Gone` says that nothing complete came, so that the same may be asked of another server.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from assay.engine.remote.inside_vllm.assay_door import ASKED, named
from assay.errors import AssayError, ConfigError, EndpointError, UsageError
from assay.host.deadline import cut_after

LARGEST = 64 << 20  # bytes of a reply, or of a line of one: some hundred thousand tokens with all that is said of each
UNKNOWN = 401  # the status with which a server asks for its secret
CONNECT = 5.0  # seconds to connect
_SHOWN = 300  # characters of what a server says that are kept


class Gone(EndpointError):
    """A server refused the connection, ended it, or said nothing until the deadline."""


class Refused(EndpointError):
    """A server answered with another status than 200."""

    def __init__(self, message: str, status: int, body: Any = None) -> None:
        super().__init__(message)
        self.status, self.body = status, body


class Garbled(EndpointError):
    """A server answered 200, but its reply is not what was asked for."""


def address_of(text: str) -> str:
    """The address as `http://HOST:PORT`; a person may write `10.0.0.5:8000` or `http://10.0.0.5:8000/`."""
    whole = text if "://" in text else f"http://{text}"
    parts = urlsplit(whole)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme != "http" or not parts.hostname or port is None or parts.path.strip("/") or parts.query:
        raise UsageError(f"a sampler's address is http://HOST:PORT, such as http://10.0.0.5:8000, not {text!r}.")
    return f"http://{parts.netloc}"


@dataclass(frozen=True)
class Reply:
    status: int
    data: bytes


class Wire:
    """The exchanges with one server, which name the secret that it asks for.

    wire = Wire("http://127.0.0.1:8000", secret)
    wire.json("POST", "/pause", seconds=10.0)
    for line in wire.lines("/inference/v1/generate", body, seconds=600.0, silence=10.0): ...
    """

    def __init__(self, address: str, secret: str = "") -> None:
        self.address, self._secret = address_of(address), secret
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return f"the sampler at {self.address}"

    def ask(self, method: str, path: str, body: Any = None, *, seconds: float, cuttable: bool = False) -> Reply:
        """The whole reply, of any status. A `cuttable` exchange ends early when somebody calls `cut`."""
        with self._reply(method, path, body, seconds=seconds, silence=seconds, cuttable=cuttable) as reply:
            data = reply.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise Garbled(f"{self.name} sent more than {LARGEST:,} bytes in reply to {path}.")
        return Reply(reply.status, data)

    def json(self, method: str, path: str, body: Any = None, *, seconds: float, cuttable: bool = False) -> Any:
        """The JSON value of a reply of status 200; None if the reply is empty."""
        reply = self.ask(method, path, body, seconds=seconds, cuttable=cuttable)
        if reply.status != 200:
            raise self._refusal(path, reply)
        return self._read(path, reply.data) if reply.data.strip() else None

    def lines(self, path: str, body: Any, *, seconds: float, silence: float) -> Iterator[Any]:
        """The JSON values of the lines of a reply, as they come. Empty lines only show that the server lives. It counts
        as gone when nothing at all has come for `silence` seconds.
        """
        with self._reply("POST", path, body, seconds=seconds, silence=silence, cuttable=True) as reply:
            if reply.status != 200:
                raise self._refusal(path, Reply(reply.status, reply.read(LARGEST)))
            while line := reply.readline(LARGEST + 1):
                if len(line) > LARGEST:
                    raise Garbled(f"{self.name} sent a line of more than {LARGEST:,} bytes in reply to {path}.")
                if line.strip():
                    yield self._read(path, line)

    def cut(self) -> None:
        """Ends the cuttable exchanges under way: they raise `Gone`."""
        with self._lock:
            under_way = list(self._open)
        for link in under_way:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def _reply(
        self, method: str, path: str, body: Any, *, seconds: float, silence: float, cuttable: bool
    ) -> Iterator[http.client.HTTPResponse]:
        parts = urlsplit(self.address)
        link = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=min(CONNECT, seconds))
        headers = {"Content-Type": "application/json", "Connection": "close"}
        headers |= {"Authorization": named(self._secret)} if self._secret else {}
        content = None if body is None else json.dumps(body).encode()
        with contextlib.closing(link):
            cut = threading.Event()
            try:
                link.connect()
                link.sock.settimeout(silence)
                with cut_after(link.sock, seconds) as cut, self._cuttable(link.sock if cuttable else None):
                    link.request(method, path, body=content, headers=headers)
                    yield link.getresponse()
                    if cut.is_set():
                        raise TimeoutError
            except (OSError, http.client.HTTPException, ValueError) as error:
                late = cut.is_set() or isinstance(error, TimeoutError)
                waited = f" within {seconds if cut.is_set() else min(silence, seconds):g} s" if late else ""
                why = f"did not answer{waited}" if late else f"ended the exchange: {type(error).__name__}: {error}"
                raise Gone(f"{self.name} {why} ({method} {path}).") from None

    @contextlib.contextmanager
    def _cuttable(self, link: socket.socket | None) -> Iterator[None]:
        with self._lock:
            self._open |= {link} if link is not None else set()
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(link)  # type: ignore[arg-type]

    def _read(self, path: str, data: bytes) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise Garbled(f"{self.name} answers {path} with what is no JSON: {shown(data)}") from None

    def _refusal(self, path: str, reply: Reply) -> AssayError:
        try:
            body = json.loads(reply.data)
        except (ValueError, RecursionError):
            body = None
        said = body.get("error", body) if isinstance(body, dict) else None
        said = said.get("message", said) if isinstance(said, dict) else said
        words = said if isinstance(said, str) else shown(reply.data)
        if reply.status == UNKNOWN:
            return ConfigError(
                f"{self.name} does not know this run's secret. Set here what it was started with, as {ASKED}."
            )
        return Refused(f"{self.name} refuses {path} with status {reply.status}: {words}", reply.status, body)


def shown(data: bytes) -> str:
    """A server's reply as text for a message: short and on one line."""
    text = data[: 4 * _SHOWN].decode(errors="replace")
    return "".join(c if c.isprintable() else " " for c in text)[:_SHOWN]
