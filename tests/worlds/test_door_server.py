"""The server of the door: who is admitted, what is refused, streams that end, break off, or whose client leaves."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Generator, Iterator
from urllib.parse import urlsplit

import pytest
from asking import CHAT, Client, events

from assay.worlds.door.chat import ChatAsked, Ended, Heard, Refused, Said, TokensAsked
from assay.worlds.door.http import DoorServer, same, wrong_token

TOKEN = "a-token"


class Echo:
    """Says what was asked, in pieces; `endless` is never done, `broken` fails in the middle."""

    model, context, vocab = "echo", 64, 9

    def __init__(self) -> None:
        self.left = threading.Event()

    def admit(self, play: str, token: str) -> Echo:
        if not same(token, TOKEN):
            raise wrong_token(token)
        return self

    def chat(self, asked: ChatAsked, session: str) -> Generator[Heard, None, None]:
        text = asked.messages[-1]["content"]
        try:
            yield Said(0, text[:2])
            while text == "endless":
                yield None
            if text == "broken":
                raise Refused(500, "the engine is gone", kind="server_error")
            if text == "bug":
                raise KeyError("slot")
            yield Ended(0, text, "stop", ids=(1, 2), read=3)
        finally:
            self.left.set()

    def tokens(self, asked: TokensAsked) -> Generator[Heard, None, None]:
        yield Ended(0, "", "length", ids=asked.ids[::-1], logprobs=(-1.0,) * len(asked.ids))


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def server(echo: Echo) -> Iterator[DoorServer]:
    with DoorServer(echo) as listening:
        listening.start()
        yield listening
        listening.shutdown()


@pytest.fixture
def client(server: DoorServer) -> Client:
    return Client(server.address, TOKEN)


def test_a_wrong_token_and_none_are_refused_as_openai_refuses_them(server: DoorServer) -> None:
    for token in ("", "wrong", "a-token-and-more"):
        status, content = Client(server.address, token).chat("hi")
        assert status == 401
        assert content["error"]["type"] == "authentication_error" and content["error"]["code"] == 401


def test_what_is_asked_is_answered(client: Client) -> None:
    status, content = client.chat("hello")
    assert status == 200 and content["choices"][0]["message"] == {"role": "assistant", "content": "hello"}
    assert content["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    assert client.ask("/v1/models")[1]["data"][0]["max_model_len"] == 64
    status, content = client.ask("/inference/v1/generate", {"token_ids": [1, 2], "sampling_params": {}})
    assert content["prompt_token_ids"] == [1, 2] and content["choices"][0]["token_ids"] == [2, 1]


@pytest.mark.parametrize(
    ("path", "body", "status", "told"),
    [
        ("/v1/nothing", {}, 404, "there is no /v1/nothing"),
        (CHAT, None, 405, "is asked with POST"),
        ("/v1/models", {}, 405, "is asked with GET"),
        (CHAT, b"{", 400, "the body is no JSON"),
        (CHAT, b"[" * 100_000, 400, "the body is no JSON"),
        (CHAT, [], 400, "the body is an object of JSON, not []"),
        (CHAT, {}, 400, "messages is a list of at least one message, not None"),
        ("/inference/v1/generate", {"token_ids": [9]}, 400, "from 0 to 8"),
    ],
)
def test_a_bad_request_is_told_what_was_expected(
    client: Client, path: str, body: object, status: int, told: str
) -> None:
    came, content = client.ask(path, body)
    assert came == status and told in content["error"]["message"]


def test_a_head_that_is_none_is_refused_too(server: DoorServer) -> None:
    place = urlsplit(server.address)
    assert place.hostname is not None and place.port is not None
    heads = [
        b"POST " + CHAT.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: " + size for size in (b"no", b"9" * 12)
    ]
    for head, status in zip((*heads, b"nonsense", b"BREW / HTTP/1.1"), (b"411", b"413", b"400", b"501"), strict=True):
        with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
            connection.sendall(head + b"\r\n\r\n")
            assert status in connection.makefile("rb").readline()


def test_a_stream(client: Client) -> None:
    body = {
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    reply = client.open(CHAT, body).getresponse()
    assert reply.headers["Content-Type"] == "text/event-stream"
    *chunks, last = events(reply)
    assert last == "[DONE]"
    deltas = [one["choices"][0]["delta"] for one in chunks if isinstance(one, dict) and one["choices"]]
    assert deltas == [{"role": "assistant", "content": ""}, {"content": "he"}, {"content": "llo"}, {}]
    assert isinstance(chunks[-1], dict) and chunks[-1]["usage"]["total_tokens"] == 5


@pytest.mark.parametrize(("text", "told"), [("broken", "the engine is gone"), ("bug", "KeyError: 'slot'")])
def test_a_stream_that_breaks_off_is_no_whole_one(client: Client, text: str, told: str) -> None:
    reply = client.open(CHAT, {"messages": [{"role": "user", "content": text}], "stream": True}).getresponse()
    with pytest.raises(http.client.IncompleteRead) as cut:
        reply.read()
    *_, last = cut.value.partial.decode().strip().splitlines()
    assert json.loads(last.removeprefix("data: "))["error"]["message"] == told
    assert b"[DONE]" not in cut.value.partial


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_gives_its_request_up(client: Client, echo: Echo, stream: bool) -> None:
    connection = client.open(CHAT, {"messages": [{"role": "user", "content": "endless"}], "stream": stream})
    if stream:
        assert next(iter(events(connection.getresponse())))
    connection.close()
    connection.sock = None
    assert echo.left.wait(10)
