"""Tools of MCP servers in runs: from a call to a run folder, on resume, in exams; who is asked before."""

from __future__ import annotations

import json
import os
import shlex
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from test_own_tools import ROWS, SMALL, model_with_a_template

import assay
from assay.cli.main import main
from assay.errors import AssayError, ConfigError, UsageError
from assay.host.reach import reached
from assay.lab.asking import Asking
from assay.run import session
from assay.run.own_tools import (
    changes_of_servers,
    equipping,
    records_of_servers,
    servers_named,
    tool_names_of,
    world_of,
)
from assay.run.setup import Setup
from assay.run.trust import Trust
from assay.tasks import ALPHABET, task
from assay.worlds import Call
from assay.worlds.mcp.listing import Listing
from assay.worlds.play import Tool
from assay.worlds.speech import ChatCalls

HERE = Path(__file__).parents[1]
PYTHON = os.environ.get("ASSAY_MCP_PYTHON", str(HERE.parent / ".venv-mcp" / "bin" / "python"))
STOPS = list("aeiou0123456789")  # an answer ends soon, so that its turn is read


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def by_hand(*words: str) -> str:
    return shlex.join([sys.executable, "-S", "-E", str(HERE / "mcp_by_hand.py"), *words])


def asked(rows: Path, *mcp: str) -> Any:
    return session.planned(Setup("grpo", data=(str(rows),), model="countdown", mcp=mcp))[0]


def test_a_run_has_the_tools_of_a_server_only_while_it_goes_on(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(HERE)
    starts = tmp_path / "starts"
    experiment = asked(rows, f"{sys.executable} -S -E mcp_by_hand.py well {starts}")
    assert experiment.mcp == (by_hand("well", str(starts)),) and not starts.exists(), "a plan starts nothing"
    (share,) = experiment.pool.shares
    with equipping(experiment, None) as equipped:
        world = task(share.task).world
        assert world is not None and world.apart and world.fork == "no" and world.servers == experiment.mcp
        assert [tool["function"]["name"] for tool in equipped.chat.schemas or []] == ["say"]
        known = records_of_servers(experiment)
        assert changes_of_servers(experiment, known) == [] == changes_of_servers(experiment, {})
        older = {server: {**record, "version": "0", "tools": ["shout"]} for server, record in known.items()}
        (change,) = changes_of_servers(experiment, older)
        assert change.endswith("is by-hand 1 with say, and was by-hand 0 with shout when the run began")
    assert task(share.task).world is None and starts.read_text() == "1"


def test_what_no_run_can_have_is_refused(rows: Path) -> None:
    def local(item: str) -> str:
        """Nothing."""
        return "0"

    with pytest.raises(UsageError, match="tools are for rows of data"):
        session.planned(Setup("grpo", task=("countdown:3",), mcp=(by_hand(),)))
    with pytest.raises(UsageError, match="is named twice"):
        asked(rows, by_hand(), by_hand())
    with pytest.raises(UsageError, match=r"mcp is the command.*not 3, of type int"):
        servers_named([by_hand(), 3])
    names, given = tool_names_of([local])
    with pytest.raises(ConfigError, match="put the function into a file of its own"):
        world_of(names, given, [Listing(by_hand(), "by-hand", "1", "", (Tool("say"),))])


def test_what_a_server_reaches_depends_on_its_name(rows: Path) -> None:
    told = [
        str(reach) for reach in reached(asked(rows, "some-server --fast", "https://there/mcp")) if reach.field == "mcp"
    ]
    assert told == ["mcp starts the program some-server --fast", "mcp calls tools of the server https://there/mcp"]


@pytest.mark.parametrize("server", ["program", "address"])
def test_a_file_of_settings_that_names_servers_reaches_nothing_untrusted(
    server: str, rows: Path, tmp_path: Path
) -> None:
    starts, file = tmp_path / "starts", tmp_path / "theirs.toml"
    named = json.dumps(by_hand("well", str(starts)) if server == "program" else "http://127.0.0.1:9/mcp")
    file.write_text(f'recipe = "grpo"\ndata = ["{rows}"]\nmodel = "countdown"\nmcp = [{named}]\n')
    with pytest.raises(ConfigError, match="trust-code" if server == "program" else "trust-addresses"):
        assay.train(config=file, run=tmp_path / "run", quiet=True)
    assert not starts.exists() and not (tmp_path / "run").exists()


def calling(monkeypatch: pytest.MonkeyPatch, *calls: Call) -> None:
    """From now on each turn of a policy that ends by itself is these calls, whatever it wrote."""
    monkeypatch.setattr(ChatCalls, "read", lambda self, text, tools, *, waits: calls)


def trained(tmp_path: Path, server: str, letters: str = ALPHABET, **more: Any) -> Any:
    model = model_with_a_template(tmp_path / "model", letters)
    shape = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**shape, "max_position_embeddings": 512}))
    scale = {**SMALL["scale"], "max_new": 24, "max_replies": 400}
    how = {**SMALL, "scale": scale, "chat": {"stop": STOPS}, **more}
    return assay.train("grpo", data=ROWS, model=model, mcp=server, run=tmp_path / "run", **how)


@pytest.mark.deep
def test_a_run_calls_a_server_goes_on_and_is_examined_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calling(monkeypatch, Call("say", {"text": "tea"}), Call("say", {"text": "bad"}), Call("say", fault="no such"))
    server = by_hand("well")
    run = trained(tmp_path, server, steps=1)
    document = json.loads((tmp_path / "run" / "run.json").read_text())
    assert document["mcp"] == {server: {"name": "by-hand", "version": "1", "protocol": "2025-06-18", "tools": ["say"]}}
    assert f"mcp = [{json.dumps(server)}]" in (tmp_path / "run" / "run.toml").read_text()
    turns = [turn for row in run.rollouts(step=1) for turn in row["turns"]]
    replies = [turn for turn in turns if turn["author"] == "world"]
    assert replies and all(turn["failed"] and "tea" in turn["text"] and "no such" in turn["text"] for turn in replies)
    assert run.resume(steps=2).steps == 2
    assert assay.evaluate(run, problems=2, n=2)["plays"]["replies"] > 0
    assert main(["sample", str(tmp_path / "run"), "a cup?", "--trust-code"]) == 0
    assert "tea" in capsys.readouterr().out


@pytest.mark.deep
def test_exams_of_a_strangers_run_start_no_server(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    trained(tmp_path, by_hand("well", str(starts)), steps=1)
    starts.unlink()
    place = tmp_path / "run" / "run.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), "run": "f" * 32}))
    asking = Asking(Setup(model=str(tmp_path / "run")))
    for refused in (lambda: assay.evaluate(tmp_path / "run", problems=2), lambda: assay.sample(tmp_path / "run", "a?")):
        with pytest.raises(ConfigError, match="mcp starts the program"):
            refused()
    assert not starts.exists()
    allowed = Asking(asking.setup, Trust.of(code=True, addresses=True))
    with allowed.equipped(allowed.pool()):
        assert starts.read_text() == "1"


@pytest.mark.deep
def test_a_server_that_dies_is_no_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One text of eight kills the server, in whichever play it is written; the others are replied to."""

    def said(self: ChatCalls, text: str, tools: Any, *, waits: bool) -> tuple[Call, ...]:
        return (Call("say", {"text": "die" if zlib.crc32(text.encode()) % 8 == 0 else "tea"}),)

    monkeypatch.setattr(ChatCalls, "read", said)
    run = trained(tmp_path, by_hand("well"), steps=2)
    answers = [row for step in (1, 2) for row in run.rollouts(step=step)]
    lost = [row for row in answers if row["finish"] == "error"]
    assert lost and all(row["verdict"] == "invalid" for row in lost) and len(lost) < len(answers)
    assert sum(row.get("world/faults", 0) for row in run.metrics()) == len(lost)
    monkeypatch.setattr(ChatCalls, "read", lambda self, text, tools, *, waits: (Call("say", {"text": "die"}),))
    with pytest.raises(AssayError, match=r"all 4 answers of an exam, 4 times with ServerLost: the MCP server"):
        assay.evaluate(run, problems=4, n=1)


@pytest.mark.scale
def test_a_server_that_others_wrote_plays_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """mcp-server-time, as it is on PyPI and in an environment of its own."""
    calling(
        monkeypatch,
        Call("get_current_time", {"timezone": "Asia/Tokyo"}),
        Call("convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "nowhere"}),
    )
    letters = f"{ALPHABET}\n"  # this server replies in lines
    run = trained(tmp_path, f"{PYTHON} -m mcp_server_time --local-timezone UTC", letters, steps=3)
    ((record),) = json.loads((tmp_path / "run" / "run.json").read_text())["mcp"].values()
    assert record["tools"] == ["get_current_time", "convert_time"] and record["version"]
    replies = [turn for row in run.rollouts(step=3) for turn in row["turns"] if turn["author"] == "world"]
    assert replies and all("+09:00" in turn["text"] and turn["failed"] for turn in replies)
    assert run.metrics()[-1]["world/faults"] == 0
