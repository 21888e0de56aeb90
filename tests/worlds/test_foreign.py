"""Environments of other libraries, without the libraries: the adapters with stand-ins for them, host programs that die
or lie, and a server of OpenEnv of ours.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from served import EchoServer

from assay import check_world
from assay.errors import ConfigError, DataError, UsageError
from assay.lab.world_rows import world_rows
from assay.rng import Key
from assay.source import Share
from assay.tasks import short, task
from assay.tasks.games.foreign import foreign_task
from assay.types import Verdict
from assay.worlds import Act, Reply
from assay.worlds.foreign import BRIDGES, HOSTS
from assay.worlds.foreign.child import Host, HostLost
from assay.worlds.foreign.openenv import text_field
from assay.worlds.foreign.websocket import WebSocketError, accepts, frame
from assay.worlds.foreign.world import ForeignPlay, Hosted
from assay.worlds.matches import PAYOFF

STAND_INS = {
    "pettingzoo/__init__.py": "",
    "pettingzoo/classic/__init__.py": "",
    "pettingzoo/classic/last_v1.py": '''
import numpy as np
class env:
    """Who takes the last of three sticks wins; the first player begins."""
    possible_agents = ["a", "b"]
    def reset(self, seed):
        self.left, self.turn, self.rewards = 3, 0, {"a": 0, "b": 0}
    @property
    def agent_selection(self):
        return self.possible_agents[self.turn % 2]
    def last(self):
        mask = np.array([0, 1, self.left > 1])
        return {"observation": np.full((1, 2, 2), self.left), "action_mask": mask}, 0, self.left == 0, False, {}
    def step(self, move):
        mover = self.agent_selection
        self.left, self.turn = self.left - move, self.turn + 1
        if self.left == 0:
            self.rewards = {one: 1 if one == mover else -1 for one in self.possible_agents}
''',
    "textarena.py": '''
print("a library that prints")
class Game:
    """The second player begins; each says a word, and "no" is against the rules."""
    def reset(self, num_players, seed):
        self.said, self.seed = [], seed
    def get_observation(self):
        return (len(self.said) + 1) % 2, f"{self.seed}: {self.said}"
    def step(self, text):
        self.said.append(text)
        return len(self.said) == 3 or text == "no", {}
    def close(self):
        wrong = self.said[-1] == "no"
        mover = len(self.said) % 2
        return {mover: -1 if wrong else 1, 1 - mover: 1 if wrong else -1}, {mover: {"invalid_move": wrong}}
make = lambda name: Game()
''',
    "gem.py": """
class Count:
    def reset(self, seed):
        self.turns = 0
        return f"seed {seed}", {}
    def step(self, text):
        self.turns += 1
        return f"heard {text}", 0.5, text == "stop", self.turns == 3, {}
make = lambda name: Count()
""",
    "skyrl_gym.py": """
class Sum:
    def __init__(self, extras):
        self.truth = extras["truth"]
    def init(self, prompt):
        return prompt, {}
    def step(self, text):
        told = [{"role": "user", "content": "again"}]
        return {"observations": told, "reward": float(text == self.truth), "done": text == self.truth, "metadata": {}}
    def close(self):
        pass
make = lambda name, env_config, extras: Sum(extras)
""",
}


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The libraries stand in a folder that host programs of this interpreter look into."""
    for name, text in STAND_INS.items():
        file = tmp_path / "lib" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))


@pytest.fixture
def hosts() -> Iterator[list[ForeignPlay]]:
    """Plays that end with the test."""
    plays: list[ForeignPlay] = []
    yield plays
    for play in plays:
        play.said = {}  # a game that has not ended: its process is not kept for the next one
        if isinstance(play.game, Hosted) and play.game.host is not None:
            play.close()


def play_of(hosts: list[ForeignPlay], program: tuple[str, str], seats: int, **spec: object) -> ForeignPlay:
    names = ("policy",) if seats == 1 else tuple(f"player-{seat}" for seat in range(seats))
    whole = {"name": "x", "seed": 5, "given": {"seats": seats}, **spec}
    hosts.append(ForeignPlay(Hosted((sys.executable, "-s", *program)), whole, names))
    return hosts[-1]


def acted(play: ForeignPlay, *texts: str) -> list[Reply]:
    replies = [play.open()]
    for text in texts:
        ask = replies[-1].ask
        assert ask is not None
        replies.append(play.step(Act(ask.seat, text)))
    return replies


def read(reply: Reply) -> list[str]:
    assert reply.ask is not None
    return [line.text for line in reply.ask.say]


def payoffs(verdicts: dict[str, Verdict]) -> list[float | None]:
    return [verdict.scores[PAYOFF] for verdict in verdicts.values()]


@pytest.mark.usefixtures("stand_ins")
def test_a_classic_game_of_pettingzoo(hosts: list[ForeignPlay]) -> None:
    host = BRIDGES["pettingzoo"].host
    play = play_of(hosts, host, 2, name="last_v1")
    replies = acted(play, "I take 2", "so 1")
    assert read(replies[0]) == ["33\n\n33\nLegal moves: 1 2\nEnd with your move."]
    assert (
        replies[1].ask is not None and replies[1].ask.seat == "player-1" and "Legal moves: 1\n" in read(replies[1])[0]
    )
    assert replies[2].end == "ended" and not replies[2].failed and payoffs({**play.judge()}) == [-1, 1]
    wrong = play_of(hosts, host, 2, name="last_v1")
    last = acted(wrong, "2", "2")[-1]
    assert last.end == "ended" and last.failed and payoffs({**wrong.judge()}) == [1, -1]
    assert wrong.judge()["player-1"].kind == "format" and wrong.judge()["player-0"].status == "ok"


@pytest.mark.usefixtures("stand_ins")
def test_a_game_of_textarena_in_which_the_second_player_begins(hosts: list[ForeignPlay]) -> None:
    play = play_of(hosts, BRIDGES["textarena"].host, 2)
    replies = acted(play, "one", "two", "three")
    assert [reply.ask.seat for reply in replies if reply.ask] == ["player-1", "player-0", "player-1"]
    assert read(replies[2]) == ["5: ['one', 'two']"], "an observation is all that is read"
    assert replies[-1].end == "ended" and payoffs({**play.judge()}) == [-1, 1]
    wrong = play_of(hosts, BRIDGES["textarena"].host, 2)
    assert acted(wrong, "no")[-1].failed and wrong.judge()["player-1"].kind == "format"


@pytest.mark.usefixtures("stand_ins")
def test_the_five_tuple_of_gem(hosts: list[ForeignPlay]) -> None:
    play = play_of(hosts, BRIDGES["gem"].host, 1)
    replies = acted(play, "a", "b", "c")
    assert read(replies[2]) == ["seed 5", "a", "heard a", "b", "heard b"]
    assert [line.author for line in replies[1].ask.say] == ["user", "policy", "user"]  # type: ignore[union-attr]
    assert replies[-1].end == "limit" and payoffs({**play.judge()}) == [1.5]
    stopped = play_of(hosts, BRIDGES["gem"].host, 1)
    assert acted(stopped, "stop")[-1].end == "ended"
    cut = play_of(hosts, BRIDGES["gem"].host, 1)
    acted(cut, "a")
    assert payoffs({**cut.judge()}) == [0.5], "a limit of the answer leaves what was won"


@pytest.mark.usefixtures("stand_ins")
def test_an_environment_of_skyrl_has_the_prompt_of_its_row(hosts: list[ForeignPlay]) -> None:
    messages = [{"role": "system", "content": "Add."}, {"role": "user", "content": "2+2"}]
    play = play_of(hosts, BRIDGES["skyrl"].host, 1, given={"prompt": messages, "extras": {"truth": "4"}})
    replies = acted(play, "5", "4")
    assert replies[0].ask is not None and [line.author for line in replies[0].ask.say] == ["system", "user"]
    assert read(replies[1]) == ["Add.", "2+2", "5", "again"]
    assert replies[2].end == "ended" and payoffs({**play.judge()}) == [1.0]


def program(tmp_path: Path, body: str) -> tuple[str, str]:
    """A host program whose `play` has this body."""
    file = tmp_path / "host.py"
    file.write_text(f"import os\ndef play(*_):\n    {body}\n")
    return str(HOSTS / "lines.py"), str(file)


DEATHS = {
    "ends": ("os._exit(3)", "ended or said too much"),
    "raises": ("raise ValueError('no board left')", "ValueError: no board left"),
    "lies": ("yield {'end': 'ended', 'won': [1, 2, 3]}", "returns for 1 seats"),
    "no number": ("yield {'end': 'ended', 'won': [float('nan')]}", "returns for 1 seats"),
    "no end": ("yield {'end': 'over', 'won': [1]}", "ends as 'over'"),
    "stops": ("return", "StopIteration"),
}


@pytest.mark.parametrize("death", DEATHS)
def test_a_program_that_fails_is_an_error_of_the_worlds(death: str, tmp_path: Path, hosts: list[ForeignPlay]) -> None:
    body, words = DEATHS[death]
    play = play_of(hosts, program(tmp_path, f"yield {{'say': 'go'}}\n    {body}"), 1)
    play.open()
    with pytest.raises(HostLost, match=words):
        play.step(Act("policy", "x"))


@pytest.mark.parametrize(
    ("body", "words"),
    [("print('hello')", "what is no answer"), ("raise SystemExit('no such library')", "no such library")],
)
def test_a_program_that_never_begins(body: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "host.py"
    file.write_text(body)
    host = Host((sys.executable, str(file)))
    with pytest.raises(HostLost, match=words):
        host.ask({"name": "x", "seed": 0, "given": {}})
    host.end()
    host.end()


def test_a_process_plays_the_next_game_when_one_has_ended(tmp_path: Path, hosts: list[ForeignPlay]) -> None:
    file = program(tmp_path, "yield {'say': str(os.getpid())}\n    yield {'end': 'ended'}")
    pids = []
    for _ in range(2):
        play = play_of(hosts, file, 1)
        pids.append(read(play.open())[0])
        assert play.step(Act("policy", "x")).end == "ended"
        play.close()
        play.close()
    left = play_of(hosts, file, 1)
    pids.append(read(left.open())[0])
    left.close()  # within a game: nobody plays on in its process
    other = play_of(hosts, file, 1)
    assert read(other.open())[0] not in pids and len(set(pids)) == 1


# OpenEnv


def test_the_key_and_a_frame_of_the_standards_own_examples() -> None:
    assert accepts("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    hello = bytes.fromhex("818537fa213d7f9f4d5158")
    assert frame(1, b"Hello", bytes.fromhex("37fa213d")) == hello
    assert frame(1, b"a" * 300, bytes(4))[:4] == b"\x81\xfe\x01\x2c" and frame(1, b"", bytes(4)) == b"\x81\x80" + bytes(
        4
    )
    assert frame(1, b"a" * 70000, bytes(4))[:10] == b"\x81\xff" + (70000).to_bytes(8, "big")


@pytest.mark.parametrize("manner", ["plain", "in pieces", "long"])
def test_a_server_of_openenv(manner: str) -> None:
    with EchoServer(manner) as server:
        known = foreign_task(f"openenv:localhost:{server.port}")
        assert known.world is not None and known.world.apart and known.world.fork == "no"
        play = known.world.start(known.problem(Key(0), level=1).spec, Key(1))
        replies = [play.open()]
        for text in ("é" * 100, "b" * 70000, "end"):
            replies.append(play.step(Act("policy", text)))
        assert replies[-1].end == "ended" and payoffs({**play.judge()}) == [3.0]
        assert read(replies[1])[1:] == ["é" * 100, "heard " + "é" * 100 * (50 if manner == "long" else 1)]
        assert server.seeds == [play.spec["seed"]]  # type: ignore[attr-defined]
        play.close()
        play.close()


def test_a_server_that_hangs_up_or_refuses_is_an_error_of_the_worlds() -> None:
    with EchoServer("plain") as server:
        world = foreign_task(f"openenv:localhost:{server.port}").world
        assert world is not None
        for text, error in (("hang up", WebSocketError), ("refuse", HostLost)):
            play = world.start({"name": "x", "seed": 0, "given": {}}, Key(0))
            play.open()
            with pytest.raises(error):
                play.step(Act("policy", text))
            play.close()


def test_the_field_of_an_action_that_takes_the_words() -> None:
    text, number = {"type": "string"}, {"type": "integer"}
    assert text_field({"properties": {"count": number, "message": text}}) == "message"
    assert text_field({"properties": {"a": text, "b": text}, "required": ["b"]}) == "b"
    for wrong in ({"properties": {"a": text, "b": text}}, {"properties": {"a": number}}):
        with pytest.raises(ConfigError, match="words go into one"):
            text_field(wrong)


# Names and lists


def test_a_name_keeps_its_colons_and_makes_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    with EchoServer("plain") as server:
        share = Share.parse(f"openenv:localhost:{server.port}=2")
        assert share.task == f"openenv:localhost:{server.port}" and share.levels == (1,) and share.weight == 2
        assert short(share.task) == f"openenv-localhost-{server.port}"


def test_what_is_not_installed_or_named_wrongly_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    for name, error, words in (
        ("gem:game:GuessTheNumber-v0", ConfigError, r"run `python -m assay\.worlds\.foreign gem`"),
        ("skyrl:gsm8k", UsageError, "skyrl:gsm8k@rows.jsonl"),
        ("skyrl:gsm8k@nowhere.jsonl", DataError, "nowhere.jsonl cannot be read"),
        ("openenv:localhost", UsageError, "openenv:localhost:8000"),
        ("textarena:", UsageError, "textarena:KuhnPoker-v0"),
    ):
        with pytest.raises(error, match=words):
            task(name)


def test_the_list_of_worlds_says_what_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    python = tmp_path / "environments" / "gem" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    rows = {row["name"]: row for row in world_rows()}
    assert rows["gem:NAME"]["installed"] and not rows["textarena:NAME"]["installed"]
    assert "not installed: python -m assay.worlds.foreign textarena" in rows["textarena:NAME"]["summary"]
    assert rows["openenv:NAME"]["installed"] and rows["calculator"]["seats"] == {"policy": "policy"}
    assert rows["game:kuhn-opponent"]["seats"] == {"first": "policy", "second": "opponent"}


def test_the_world_of_a_server_keeps_the_contract() -> None:
    with EchoServer("plain") as server:
        assert check_world(foreign_task(f"openenv:localhost:{server.port}"), plays=4).plays == 4
