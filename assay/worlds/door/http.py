"""A server that speaks OpenAI's interface. Whoever answers stands behind a `Desk`: an engine, or the play of a run."""

from __future__ import annotations

import contextlib
import hmac
import json
import re
import secrets
import select
import socket
import sys
import threading
from collections.abc import Generator, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import urlsplit

from assay.worlds.door.chat import (
    ChatAsked,
    Ended,
    Heard,
    Refused,
    Said,
    TokensAsked,
    chat_of,
    tokens_of,
)
from assay.worlds.door.replies import Streamed, completion

LARGEST = 32 << 20  # bytes of a body
SILENCE = 5.0  # seconds after which a stream without news has a comment, which tells both sides that the other lives
TURN = 0.2  # seconds after which a desk that has no news says so
LINGER = 0.5  # seconds in which a client that is turned away can read why
CHAT, TOKENS, MODELS = "/v1/chat/completions", "/inference/v1/generate", "/v1/models"
POSTS, GETS = (CHAT, TOKENS), (MODELS,)
_OF_PLAY = re.compile(r"/plays/([^/]+)(/.*)")


class Desk(Protocol):
    """Who answers the requests of a client that has named a token."""

    model: str  # its name, for clients
    context: int  # the most tokens of prompt and answer together; 0: it does not know
    vocab: int  # token ids are 0 .. vocab - 1; 0: it answers no request for tokens

    def chat(self, asked: ChatAsked, session: str) -> Generator[Heard, None, None]:
        """What comes of a request, ending with an `Ended` for each answer. Closing it gives the request up."""
        ...

    def tokens(self, asked: TokensAsked) -> Generator[Heard, None, None]:
        """The same for a continuation of tokens."""
        ...


class Desks(Protocol):
    """Finds the desk of a request."""

    def admit(self, play: str, token: str) -> Desk:
        """The desk for the play that an address names, "" where it names none; `Refused` for a wrong token."""
        ...


def same(token: str, expected: str) -> bool:
    """Whether two tokens are equal, in a time that does not tell how much of them is."""
    return hmac.compare_digest(token.encode(), expected.encode())


def wrong_token(token: str) -> Refused:
    """The answer to a request whose token is missing or wrong."""
    told = (
        "Incorrect API key provided." if token else "You didn't provide an API key: send Authorization: Bearer TOKEN."
    )
    return Refused(401, told, kind="authentication_error")


class DoorServer(ThreadingHTTPServer):
    """Listens for requests, and answers those that a desk admits.

    Example:
        server = DoorServer(desks)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, desks: Desks, *, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__((host, port), DoorHandler)
        self.desks = desks

    @property
    def address(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def start(self) -> None:
        """Listens in a thread of its own."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error of the server; all else stands in its log."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class DoorHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60.0  # seconds without a byte from a client, or to it

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: an agent asks thousands of times."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses by itself, as an object of JSON too."""
        self._refuse(Refused(code, message or "this is no request"))

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        self.close_connection = True  # a client that streams, or that was refused, may have sent more
        try:
            body = self._body()
            play, path = self._place()
            if path not in (*POSTS, *GETS):
                raise Refused(404, f"there is no {path}: this server has {', '.join((*POSTS, *GETS))}.")
            if (self.command == "POST") != (path in POSTS):
                raise Refused(405, f"{path} is asked with {'POST' if path in POSTS else 'GET'}.")
            desk = self.home.desks.admit(play, self._token())
            if path == MODELS:
                self._say(_models(desk))
            elif path == CHAT:
                self._chat(desk, chat_of(_object(body)))
            else:
                self._tokens(desk, _object(body))
        except Refused as refused:
            self._refuse(refused)
        except OSError:
            raise
        except Exception as error:  # told to the client that asked, and to the log of the server
            self.home.handle_error(self.request, self.client_address)
            self._refuse(Refused(500, f"{type(error).__name__}: {error}", kind="server_error"))

    def _place(self) -> tuple[str, str]:
        """(the play that the address names, the path behind it)."""
        path = urlsplit(self.path).path
        of_play = _OF_PLAY.fullmatch(path)
        return (of_play[1], of_play[2]) if of_play else ("", path)

    def _token(self) -> str:
        kind, _, token = (self.headers.get("Authorization") or "").partition(" ")
        return token.strip() if kind.lower() == "bearer" else ""

    def _body(self) -> bytes:
        size = self.headers.get("Content-Length", "0" if self.command == "GET" else "")
        if not size.isdecimal():
            raise Refused(411, "a request says with Content-Length how many bytes its body has.")
        if int(size) > LARGEST:
            raise Refused(413, f"a body has at most {LARGEST:,} bytes, and this one has {size}.")
        data = self.rfile.read(int(size))
        if len(data) < int(size):
            raise Refused(400, f"the body ends after {len(data):,} of {size} bytes.")
        return data

    @property
    def home(self) -> DoorServer:
        assert isinstance(self.server, DoorServer)
        return self.server

    # Answers

    def _chat(self, desk: Desk, asked: ChatAsked) -> None:
        name = secrets.token_hex(8)
        heard = desk.chat(asked, self.headers.get("X-Session-ID", ""))
        with contextlib.closing(heard) as news:
            if asked.stream:
                self._stream(Streamed(asked, name, desk.model), news)
            else:
                self._say(completion(asked, self._gathered(news), name=name, model=desk.model))

    def _tokens(self, desk: Desk, body: Mapping[str, Any]) -> None:
        if not desk.vocab:
            raise Refused(400, f"a play of a run is asked with {CHAT}: the run itself keeps the ids of its tokens.")
        asked = tokens_of(body, vocab=desk.vocab)
        with contextlib.closing(desk.tokens(asked)) as news:
            (ended,) = self._gathered(news)
        choice = {"index": 0, "token_ids": list(ended.ids), "finish_reason": ended.finish}
        lines = [
            {"token": f"token_id:{one}", "logprob": value} for one, value in zip(ended.ids, ended.logprobs, strict=True)
        ]
        choice["logprobs"] = {"content": lines}
        told = {"id": f"gen-{secrets.token_hex(8)}", "model": desk.model, "prompt_token_ids": list(asked.ids)}
        self._say({**told, "request_id": told["id"], "choices": [choice]})

    def _gathered(self, news: Iterator[Heard]) -> list[Ended]:
        """The complete answers. A client that hangs up while it waits gives them up."""
        answers = []
        for heard in news:
            if heard is None:
                self._require_client()
            elif isinstance(heard, Ended):
                answers.append(heard)
        return answers

    def _stream(self, streamed: Streamed, news: Iterator[Heard]) -> None:
        """Sends an answer as it comes. The head goes out with the first news, so that a refusal has its status."""
        begun, silent = False, 0.0
        for heard in news:
            if not begun:
                begun = True
                self._open_stream()
                self._events(streamed.first())
            if heard is None:
                self._require_client()
                silent += TURN
                if silent >= SILENCE:
                    silent = 0.0
                    self._chunk(b": waiting\n\n")
                continue
            silent = 0.0
            self._events(streamed.piece(heard) if isinstance(heard, Said) else streamed.ended(heard))
        self._events(streamed.last())
        self._chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _open_stream(self) -> None:
        self.streaming = True
        self.send_response(200)
        for name, value in (("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache")):
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()

    def _events(self, chunks: Iterator[Mapping[str, Any]]) -> None:
        for chunk in chunks:
            self._chunk(f"data: {json.dumps(chunk)}\n\n".encode())

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _require_client(self) -> None:
        """Raises an error if the client has hung up."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        if readable and self.connection.recv(1, socket.MSG_PEEK) == b"":
            raise ConnectionAbortedError("the client has hung up")

    streaming = False

    def _refuse(self, refused: Refused) -> None:
        """Says why a request is not answered. A stream that has begun ends with it, and without its last mark."""
        if self.streaming:
            self._chunk(f"data: {json.dumps(refused.body)}\n\n".encode())
            return
        self._say(refused.body, refused.status)
        with contextlib.suppress(OSError):  # else the system takes the reply back from a client that still sends
            self.connection.settimeout(LINGER)
            self.connection.shutdown(socket.SHUT_WR)
            while self.connection.recv(1 << 16):
                pass

    def _say(self, content: Mapping[str, Any], status: int = 200) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        if status >= 400:
            self.send_header("X-Should-Retry", "false")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is no JSON: {error!s:.200}.") from None
    if not isinstance(content, dict):
        raise Refused(400, f"the body is an object of JSON, not {content!r:.60}.")
    return content


def _models(desk: Desk) -> Mapping[str, Any]:
    room = {"max_model_len": desk.context} if desk.context else {}
    return {
        "object": "list",
        "data": [{"id": desk.model, "object": "model", "created": 0, "owned_by": "assay", **room}],
    }
