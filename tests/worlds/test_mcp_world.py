"""Tools of MCP servers: what a server says of itself, calls, errors of the policy's, and servers that fail or lie.

Most servers are written by hand (`mcp_by_hand.py`), because they start at once; `mcp_shop.py` is one of the package.
"""

from __future__ import annotations

import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import below, gone
from talking import said

from assay.collect.hosts import HostedPlay, Hosts, PlayLost, ReplyLog
from assay.errors import ConfigError, UsageError
from assay.rng import Key
from assay.tasks.data.task import equipped
from assay.worlds import JSON, Act, ToolError, World
from assay.worlds.mcp import listed, mcp_tools, pipes, served
from assay.worlds.mcp.connection import Connection, ServerLost
from assay.worlds.mcp.listing import Listing, plain_schema
from assay.worlds.mcp.served_tools import ServerSession
from assay.worlds.mcp.server_names import whole
from assay.worlds.play import Tool
from assay.worlds.tools import calling

HERE = Path(__file__).parents[1]
DATA = "data:/tmp/rows-of-a-server.jsonl"


def by_hand(how: str = "well", starts: Path | None = None) -> str:
    """The command of the server that is written by hand."""
    words = [sys.executable, "-S", "-E", str(HERE / "mcp_by_hand.py"), how, *([str(starts)] if starts else [])]
    return shlex.join(words)


@pytest.fixture
def opened() -> Iterator[list[ServerSession]]:
    sessions: list[ServerSession] = []
    yield sessions
    for session in sessions:
        session.close()


def session_of(opened: list[ServerSession], how: str, starts: Path | None = None) -> ServerSession:
    opened.append(ServerSession(by_hand(how, starts)))
    return opened[-1]


@pytest.mark.slow
def test_a_server_of_the_package_says_what_it_has_and_replies() -> None:
    """Names, descriptions, schemas and the version are those of mcp_shop.py; so are the replies."""
    connection = Connection(shlex.join([sys.executable, str(HERE / "mcp_shop.py")]))
    try:
        assert (connection.name, connection.version) == ("shop", "1.2.3")
        assert [tool.name for tool in connection.tools] == ["price", "stock-of", "picture"]
        price = connection.tools[0]
        assert price.description == "The price of some pieces." and price.input_schema["required"] == ["item"]
        assert connection.call("price", {"item": "cake", "pieces": 2}, seconds=30) == "10 EUR"
        assert (
            connection.call("stock-of", {"items": ["tea"]}, seconds=30).replace(" ", "").replace("\n", "")
            == '{"tea":3}'
        )
        assert connection.call("picture", {}, seconds=30) == "[image]"
        for wrong in ({"item": 3}, {}, {"item": "gold"}):
            with pytest.raises(ToolError, match="price"):
                connection.call("price", wrong, seconds=30)
    finally:
        connection.close()


@pytest.mark.deep
def test_a_server_at_an_address_replies_likewise() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, HERE / "mcp_shop.py", str(port)], stderr=subprocess.DEVNULL)
    try:
        connection = _reached(f"http://127.0.0.1:{port}/mcp")
        assert connection.call("price", {"item": "tea"}, seconds=30) == "3 EUR"
        process.kill()
        process.wait()
        with pytest.raises(ServerLost, match=str(port)):
            connection.call("price", {"item": "tea"}, seconds=30)
        connection.close()
    finally:
        process.kill()


def _reached(address: str) -> Connection:
    """A connection to a server that has just been started."""
    end = time.monotonic() + 50
    while True:
        try:
            return Connection(address)
        except ServerLost:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(ConfigError, match=r"the package mcp: run `pip install 'assay-rl\[tools\]'`"):
        listed(by_hand())


def test_what_a_server_lists_becomes_tools() -> None:
    listing = listed(by_hand())
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    assert (listing.name, listing.version, listing.protocol) == ("by-hand", "1", "2025-06-18")
    assert listing.tools == (Tool("say", "Says it.", schema),)
    assert listing.record == {"name": "by-hand", "version": "1", "protocol": "2025-06-18", "tools": ["say"]}


def test_a_world_of_servers_waits_apart_and_does_not_fork_unless_told() -> None:
    world = mcp_tools([by_hand()], speech=JSON)
    assert world.apart and world.fork == "no" and [tool.name for tool in world.tools] == ["say"]
    assert world.act("policy", '{"name": "say", "arguments": {"txt": "a"}}\n', waits=True).calls[0].fault
    assert mcp_tools([by_hand()], fork="replay").fork == "replay"


def test_of_two_tools_with_one_name_each_has_its_server_before_it() -> None:
    shops = [Listing(f"run {name}", name, "1", "", (Tool("find"), Tool(name))) for name in ("a shop", "b")]
    assert [tool.name for tool, _ in served(shops)] == ["a_shop.find", "a shop", "b.find", "b"]
    with pytest.raises(ConfigError, match=r"two tools have the name 'a.find'"):
        calling(served([Listing(place, "a", "1", "", (Tool("find"),)) for place in "xy"]), speech=JSON)


def test_schemas_that_are_none_are_left_to_the_server() -> None:
    at = {"type": "integer", "description": "when"}
    given = {
        "properties": {"at": at, "any": True, "odd": {"type": ["colour"], "enum": "red"}},
        "required": ["at", "no"],
    }
    properties = {"at": at, "any": {}, "odd": {}}
    assert plain_schema(given) == {"type": "object", "properties": properties, "required": ["at"]}
    for nothing in ({}, {"properties": [1], "required": 3}):
        assert plain_schema(nothing) == {"type": "object", "properties": {}}
    (tool,) = listed(by_hand("odd-schema")).tools
    assert tool.schema == {"type": "object", "properties": {"text": {}, "at": {}}}


@pytest.mark.parametrize(
    ("how", "says"),
    {
        "mute": "no answer within 0.5 s",
        "no-tools": "has no tools",
        "twice": "names the tool 'say' twice",
        "spaces": "'say it', which no model could call",
        "empty-name": "'', which no model could call",
        "endless-words": "described in more than 65536 characters",
        "endless-list": "more than 100 pages",
    }.items(),
)
def test_a_server_that_cannot_be_used_is_refused_before_a_run(how: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        listed(by_hand(how), seconds=0.5 if how == "mute" else 30)


def test_a_command_that_is_none_is_refused_with_what_it_said() -> None:
    for command, says in (
        ("no-such-program", "No such file"),
        (f"{sys.executable} -S -c 'import nothing'", "No module named 'nothing'"),
        (f"{sys.executable} -S -c 'print(5)'", "wrote what is no message: b'5'"),
        ("http://127.0.0.1:9/mcp", "127.0.0.1:9"),
    ):
        with pytest.raises(ConfigError, match=says):
            listed(command)
    with pytest.raises(UsageError, match="cannot be parted into words"):
        listed("python 'server.py")


def test_errors_of_the_policy_are_told_apart_from_errors_of_the_server(opened: list[ServerSession]) -> None:
    with pytest.raises(ToolError, match=r"^bad$"):
        session_of(opened, "well").call("say", {"text": "bad"}, 10)
    with pytest.raises(ToolError, match=r"^the text must be shorter$"):
        session_of(opened, "refuses").call("say", {"text": "a"}, 10)
    with pytest.raises(ServerLost, match="the text must be shorter"):
        session_of(opened, "fails").call("say", {"text": "a"}, 10)


@pytest.mark.parametrize("how", ["dies", "noise"])
def test_a_server_that_is_lost_is_started_once_more(how: str, opened: list[ServerSession], tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    assert session_of(opened, f"{how}-once", starts).call("say", {"text": "tea"}, 10) == "tea"
    assert starts.read_text() == "2"
    starts.unlink()
    with pytest.raises(ServerLost, match="ended" if how == "dies" else r"no message: b'the reply is: 4'"):
        session_of(opened, how, starts).call("say", {"text": "tea"}, 10)
    assert starts.read_text() == "2", "once, and not again and again"


@pytest.mark.parametrize(
    ("how", "says"), [("endless", "more than 1 MiB without an end"), ("wrong-result", "validation error")]
)
def test_replies_that_nobody_can_read_are_errors_of_the_server(
    how: str, says: str, opened: list[ServerSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipes, "LONGEST", 1 << 20)
    with pytest.raises(ServerLost, match=says):
        session_of(opened, how).call("say", {"text": "a"}, 10)


def test_a_server_that_hangs_is_ended_and_the_next_call_has_another(
    opened: list[ServerSession], tmp_path: Path
) -> None:
    session = session_of(opened, "well", tmp_path / "starts")
    with pytest.raises(ServerLost, match=r"no answer within 0.5 s"):
        session.call("say", {"text": "hang"}, 0.5)
    assert session.call("say", {"text": "tea"}, 10) == "tea" and (tmp_path / "starts").read_text() == "2"


def test_a_reply_without_end_is_cut(opened: list[ServerSession]) -> None:
    assert session_of(opened, "long").call("say", {"text": "a"}, 10) == "a" * 100_000 + " [cut]"


def test_paths_of_a_command_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my server.py").touch()
    monkeypatch.chdir(tmp_path)
    assert whole("python 'my server.py' --root . -v well") == f"python '{tmp_path}/my server.py' --root . -v well"
    assert whole("http://there:80/mcp") == "http://there:80/mcp"


def play_in(hosts: Hosts) -> HostedPlay:
    play = HostedPlay(hosts, ReplyLog(None), DATA, {}, Key(0))
    play.open()
    return play


@pytest.mark.slow
def test_plays_apart_share_a_server_which_ends_with_their_process() -> None:
    world = calling(served([listed(by_hand())]), speech=JSON, apart=True, fork="no", servers=[by_hand()])
    hosts = Hosts(1, seconds=2.5)
    try:
        with equipped([DATA], world):
            first, second = play_in(hosts), play_in(hosts)
            assert said(first.step(_say(world, "tea"))) == "tea"
            bad = second.step(_say(world, "bad"))
            assert bad.failed and not bad.fault and said(bad) == "bad"
            (host,) = hosts._hosts.values()
            servers = below(host.process.pid)
            assert len(servers) == 1
            with pytest.raises(PlayLost, match=r"no answer within 2 s"):
                first.step(_say(world, "hang"))
            assert said(second.step(_say(world, "tea"))) == "tea", "no other play is lost with it"
            (server,) = below(host.process.pid)
    finally:
        hosts.close()
    assert gone(server)


def _say(world: World, text: str) -> Act:
    return world.act("policy", f'{{"name": "say", "arguments": {{"text": "{text}"}}}}\n', waits=True)
