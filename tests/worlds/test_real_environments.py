"""Environments of the libraries themselves, each in an environment of its own: `make test-scale` installs them."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from assay.rng import Key
from assay.tasks import task
from assay.worlds import Act, Reply
from assay.worlds.foreign import BRIDGES
from assay.worlds.matches import PAYOFF

pytestmark = pytest.mark.scale
SERVER = """
import sys, uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
class Said(Action):
    message: str
class Heard(Observation):
    echo: str
class Echo(Environment):
    def reset(self, seed=None, episode_id=None, **kwargs):
        return Heard(echo="say something")
    def step(self, action, timeout_s=None, **kwargs):
        return Heard(echo=f"heard {action.message}", reward=1.0, done=action.message == "end")
    @property
    def state(self):
        return State()
uvicorn.run(create_fastapi_app(Echo, Said, Heard), port=int(sys.argv[1]), log_level="warning")
"""


def played(name: str, texts: Sequence[str], *, key: int = 3) -> tuple[list[Reply], list[float | None]]:
    """A play with these turns: what was replied, and what was won."""
    known = task(name)
    assert known.world is not None
    play = known.world.start(known.generator.instance(np.random.default_rng(key), 1), Key(0))
    try:
        replies = [play.open()]
        for text in texts:
            if (ask := replies[-1].ask) is None:
                break
            replies.append(play.step(Act(ask.seat, text)))
        return replies, [verdict.scores[PAYOFF] for verdict in play.judge().values()]
    finally:
        play.close()


GAMES = {
    "pettingzoo:tictactoe_v3": (["0", "3", "1", "4", "2"], [1, -1]),
    "pettingzoo:leduc_holdem_v4": (["999"], [-1, 1]),
    "textarena:TicTacToe-v0": (["[0]", "[3]", "[1]", "[4]", "[2]"], None),
    "gem:game:GuessTheNumber-v0-easy": ([f"\\boxed{{{i}}}" for i in range(1, 11)], None),
}


@pytest.mark.parametrize("name", GAMES)
def test_a_game_can_be_played_to_its_end_and_repeats_itself(name: str) -> None:
    texts, won = GAMES[name]
    replies, payoffs = played(name, texts)
    assert replies[-1].end in ("ended", "limit") and not any(reply.fault for reply in replies)
    assert won is None or sorted(payoffs, key=str) == sorted(won, key=str)
    assert played(name, texts) == (replies, payoffs), "the same seed and acts"
    assert any(played(name, texts, key=key)[0] for key in (4, 5))


def test_a_row_of_a_file_is_a_problem_of_skyrl_gym(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    prompt = [{"role": "user", "content": "2+2? Answer after ####"}]
    rows.write_text(json.dumps({"prompt": prompt, "extras": {"reward_spec": {"ground_truth": "4"}}}))
    for text, won in (("#### 4", 1.0), ("#### 5", 0.0)):
        replies, payoffs = played(f"skyrl:gsm8k@{rows}", [text])
        assert replies[-1].end == "ended" and payoffs == [won]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[int]:
    """The port of a server that OpenEnv itself runs."""
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    file = tmp_path / "server.py"
    file.write_text(SERVER)
    process = subprocess.Popen([str(BRIDGES["openenv"].python()), str(file), str(port)])
    try:
        until = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("localhost", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < until, "the server did not begin"
                time.sleep(0.2)
        yield port
    finally:
        process.kill()
        process.wait()


def test_a_server_of_openenv(server: int) -> None:
    replies, payoffs = played(f"openenv:localhost:{server}", ["hello", "end"])
    assert replies[1].ask is not None and replies[1].ask.say[-1].text == "heard hello"
    assert replies[-1].end == "ended" and payoffs == [2.0]
