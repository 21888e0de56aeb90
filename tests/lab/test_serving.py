"""A served policy: batches, seeds, streams, calls that must be made, rows that a client leaves, and a real engine."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asking import CHAT, Client, events
from crashes import small_policy
from scripted import BOS, CODEC, SEP, Scripted, letters

from assay.cli.main import main
from assay.engine.interface import Span
from assay.errors import ConfigError
from assay.lab.sample import open_engine
from assay.lab.serving import ServedPolicy, serving
from assay.types import Request
from assay.worlds.door.http import DoorServer

TOKEN = "a-token"
ADD = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}


@contextmanager
def served(engine: Any, **how: Any) -> Iterator[Client]:
    desk = ServedPolicy(CODEC, engine, model="scripted", token=TOKEN, **how)
    with DoorServer(desk) as server:
        desk.start()
        server.start()
        yield Client(server.address, TOKEN)
        server.shutdown()
        desk.stop()


def asked(engine: Scripted) -> list[Request]:
    return [request for call in engine.calls for request in call]


def test_a_request_is_what_the_body_says() -> None:
    engine = Scripted(lambda read: "ab#c")
    with served(engine, temperature=0.5) as client:
        _, content = client.chat("hi", max_tokens=9, temperature=0.25, top_p=0.5, stop="#", n=2, logprobs=True)
        client.chat("hi")
    first, second, plain = asked(engine)
    assert first.context.tolist() == [BOS, *letters("hi"), SEP]
    assert (first.max_new, first.temperature, first.top_p, first.stop) == (9, 0.25, 0.5, ("#",))
    assert ((first.sample, second.sample) == (0, 1) and first.draw != second.draw) or first.id != second.id
    assert (plain.max_new, plain.temperature, plain.top_p) == (Scripted.context - 4, 0.5, 1.0)
    assert [choice["message"]["content"] for choice in content["choices"]] == ["ab", "ab"]
    assert [one["logprob"] for one in content["choices"][0]["logprobs"]["content"]] == [-1.0] * 3
    assert content["usage"] == {"prompt_tokens": 4, "completion_tokens": 6, "total_tokens": 10}


def test_requests_that_come_together_are_one_batch_and_equal_seeds_are_not() -> None:
    engine = Scripted(lambda read: read, late=0.3)
    with served(engine) as client:
        said: dict[str, Any] = {}

        def ask(name: str, text: str, **more: Any) -> None:
            said[name] = client.chat(text, **more)[1]["choices"][0]["message"]["content"]

        first = threading.Thread(target=ask, args=("first", "1"))
        first.start()
        while not engine.calls:
            time.sleep(0.01)
        texts = {"a": "2", "b": "3", "c": "4", "d": "4"}
        others = [threading.Thread(target=ask, args=(name, text), kwargs={"seed": 5}) for name, text in texts.items()]
        for thread in others:
            thread.start()
        for thread in (first, *others):
            thread.join()
    assert said == {"first": "1", **texts}
    assert [len(call) for call in engine.calls] == [1, 3, 1], "equal requests of one seed cannot be in one batch"


def test_a_tool_is_called_also_where_it_must_be() -> None:
    engine = Scripted(lambda read: '{"a": 1}}</tool_call>' if read.endswith('"arguments": ') else "no")
    named = {"type": "function", "function": {"name": "add"}}
    with served(engine) as client:
        _, free = client.chat("hi", tools=[ADD])
        _, forced = client.chat("hi", tools=[ADD], tool_choice=named)
    assert free["choices"][0]["finish_reason"] == "stop"
    assert forced["choices"][0]["finish_reason"] == "tool_calls"
    (call,) = forced["choices"][0]["message"]["tool_calls"]
    assert call["function"] == {"name": "add", "arguments": '{"a": 1}'}


def test_a_client_that_leaves_frees_its_row() -> None:
    ended = threading.Event()

    class Endless(Scripted):
        """Writes until somebody says that it is enough."""

        def _written(self, place: int, request: Request, heard: Any) -> Any:
            while not heard(place, np.array(letters("ab"), np.int32)):
                time.sleep(0.01)
            ended.set()
            return super()._written(place, request, None)

    with served(Endless(lambda read: "ab")) as client:
        connection = client.open(CHAT, {"messages": [{"role": "user", "content": "hi"}], "stream": True})
        reply = connection.getresponse()
        stream = events(reply)
        pieces = [next(stream) for _ in range(2)]
        assert isinstance(pieces[1], dict) and pieces[1]["choices"][0]["delta"] == {"content": "ab"}
        reply.close()
        connection.close()
        assert ended.wait(10)


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"model": "gpt-4o"}, 404, "the model is 'scripted' here"),
        ({"max_tokens": 700}, 400, "the model holds 600 tokens; the prompt has 4, and 700 are asked for"),
        ({"messages": [{"role": "user", "content": "é"}]}, 400, "is not in this tokenizer's alphabet"),
    ],
)
def test_what_the_model_cannot_do_is_said(body: dict[str, Any], status: int, told: str) -> None:
    with served(Scripted(lambda read: "1")) as client:
        came, content = client.chat("hi", **body) if "messages" not in body else client.ask(CHAT, body)
    assert came == status and told in content["error"]["message"]


def test_an_engine_that_fails_fails_one_request() -> None:
    def says(read: str) -> str:
        if read == "bad":
            raise ValueError("not finite")
        return read

    with served(Scripted(says)) as client:
        status, content = client.chat("bad")
        assert status == 500 and content["error"]["message"] == "not finite"
        assert client.chat("good")[0] == 200


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("served") / "model"
    small_policy(folder)
    return str(folder)


@pytest.mark.slow
def test_a_real_engine_says_the_log_probabilities_that_scoring_gives(model: str) -> None:
    with serving(model, precision="fp32") as door:
        client = Client(door.address, door.token)
        assert Client(door.address, "wrong").chat("1")[0] == 401
        body = {"token_ids": [BOS, *letters("1 2"), SEP], "sampling_params": {"max_tokens": 12, "seed": 1}}
        _, content = client.ask("/inference/v1/generate", body)
        again = client.ask("/inference/v1/generate", body)[1]
        _, chatted = client.chat("1 2", max_tokens=12, seed=1)
        stream = client.open(
            CHAT, {"messages": [{"role": "user", "content": "1 2"}], "max_tokens": 12, "seed": 1, "stream": True}
        )
        *chunks, last = events(stream.getresponse())
    (choice,) = content["choices"]
    ids = choice["token_ids"]
    assert again["choices"] == content["choices"], "a seed repeats its answer"
    assert chatted["choices"][0]["message"]["content"] == CODEC.decode(ids)
    pieces = [one["choices"][0]["delta"].get("content", "") for one in chunks if isinstance(one, dict)]
    assert "".join(pieces) == CODEC.decode(ids) and last == "[DONE]"
    _, engine = open_engine(model, precision="fp32")
    context, given = np.array(body["token_ids"], np.int32), np.array(ids, np.int32)
    (scores,) = engine.score([Span(context, given)])
    said = [one["logprob"] for one in choice["logprobs"]["content"]]
    np.testing.assert_allclose(said, scores.logp, atol=1e-5)


def test_a_port_that_is_taken_is_told_so(model: str) -> None:
    with DoorServer(None) as other:  # type: ignore[arg-type]
        taken = serving(model, port=other.server_address[1])
        with pytest.raises(ConfigError, match="nobody can listen at"):
            taken.__enter__()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["--port", "70000"], "--port is a number from 0 to 65535, not 70000"),
        (["--max-new", "0"], "--max-new must be at least 1"),
        (["--token", ""], "a token is ASCII without blanks, and not empty"),
    ],
)
def test_a_wrong_argument(model: str, line: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", model, *line]) != 0
    assert told in capsys.readouterr().err


@pytest.mark.deep
def test_the_command_keeps_its_token_in_a_private_file_until_it_is_stopped(model: str, tmp_path: Path) -> None:
    environment = os.environ | {"ASSAY_STATE": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    line = [sys.executable, "-m", "assay", "serve", model, "--json"]
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        told = json.loads(process.stdout.readline())
        file = Path(told["token_file"])
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        token = file.read_text().strip()
        status, content = Client(told["address"], token).chat("1", max_tokens=2)
        assert status == 200 and content["usage"]["completion_tokens"] <= 2
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert token not in process.stderr.read() and not file.exists()
