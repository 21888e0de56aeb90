"""A connection to an MCP server, for the threads of plays: each calls and waits, and calls of several go on at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, ConfigError
from assay.host.reach import is_address
from assay.worlds.mcp.pipes import Spoken, pipes
from assay.worlds.mcp.server_names import words_of
from assay.worlds.tools import ToolError

if TYPE_CHECKING:
    from mcp import Client
    from mcp import types as theirs

START_SECONDS = 60.0  # in which a server must have said what tools it has
PAGES = 100  # of a list of tools; a server that has more names no end
LONGEST_REPLY = 100_000  # characters of a reply; what is longer is cut
REFUSED = (-32602, -32601)  # errors of JSON-RPC that say what is wrong with a call: the policy's, not the server's


class ServerLost(AssayError):
    """An MCP server has no answer to give: it ended, took too long, or said what nobody can read."""


class Slow(ServerLost):
    """An MCP server took too long for a call."""


class Connection:
    """An open session with a server. One that was lost stays lost; closing it ends a program that was started.

    connection = Connection("uvx mcp-server-time")
    connection.call("get_current_time", {"timezone": "UTC"}, seconds=10)
    """

    def __init__(self, server: str, *, seconds: float = START_SECONDS) -> None:
        if not is_address(server):
            words_of(server)
        needed()
        self.server, self.lost = server, False
        self._spoken = Spoken()
        self._open: Future[Client] = Future()
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        try:
            client = self._open.result(seconds)
            self.name, self.version = _named(client)
            self.protocol = str(client.protocol_version)
            self.tools: Sequence[theirs.Tool] = self._done(_tools(client), seconds)
        except BaseException as error:
            told = self._told(error, seconds)
            self.close()
            raise told from None

    def call(self, name: str, arguments: Mapping[str, Any], *, seconds: float) -> str:
        """The reply of a tool. `ToolError` where the server says what was wrong with the call, `ServerLost` where it
        gives no answer within these seconds, or none that can be read.
        """
        from mcp import MCPError

        try:
            result = self._done(self._open.result().call_tool(name, dict(arguments)), seconds)
        except MCPError as error:
            if error.code in REFUSED:
                raise ToolError(error.message[:LONGEST_REPLY]) from None
            raise self._told(error, seconds) from None
        except Exception as error:  # told as what the server is lost by
            raise self._told(error, seconds) from None
        if result.is_error:
            raise ToolError(text_of(result))
        return text_of(result)

    def close(self, *, wait: bool = True) -> None:
        """Ends the session, and the program that it started. `wait`: until that is done, for some seconds at most."""
        self.lost = True
        with contextlib.suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(self._over.set)
        if wait:
            self._thread.join(timeout=5.0)

    def _done(self, work: Any, seconds: float) -> Any:
        """What a coroutine of the session returns."""
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result(seconds)
        finally:
            running.cancel()

    def _told(self, error: BaseException, seconds: float) -> ServerLost:
        """The error with the server's name. From now on nothing is asked in this session."""
        self.lost = self._spoken.lost = True
        kind = Slow if isinstance(error, Late) else ServerLost
        why = f"no answer within {seconds:g} s" if kind is Slow else _innermost(error)
        return kind(f"the MCP server {self.server}: {'; '.join(filter(None, [why, str(self._spoken)]))}")

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._session())
        except BaseException as error:  # told to whoever waits for the session; without one it was closed
            if not self._open.done():
                self._open.set_exception(error)
        finally:
            self.lost = True
            self._loop.close()

    async def _session(self) -> None:
        over = asyncio.ensure_future(self._over.wait())
        talk = asyncio.ensure_future(self._talk())
        await asyncio.wait([over, talk], return_when=asyncio.FIRST_COMPLETED)
        if not self._open.done() and not talk.done():
            talk.cancel()  # it was closed before the server had begun
        over.cancel()
        await talk

    async def _talk(self) -> None:
        async with _client(self.server, self._spoken) as client:
            self._open.set_result(client)
            await self._over.wait()


@contextlib.asynccontextmanager
async def _client(server: str, spoken: Spoken) -> AsyncIterator[Client]:
    client = needed().Client
    async with client(server if is_address(server) else pipes(words_of(server), spoken)) as session:
        yield session


def needed() -> Any:
    """The package `mcp`. ConfigError where it is missing."""
    try:
        import mcp
    except ImportError:
        raise ConfigError("tools of MCP servers need the package mcp: run `pip install 'assay-rl[tools]'`.") from None
    return mcp


async def _tools(client: Client) -> list[theirs.Tool]:
    """All tools of a server, page by page."""
    tools: list[theirs.Tool] = []
    cursor: str | None = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        if not (cursor := page.next_cursor):
            return tools
    raise ServerLost(f"it lists its tools on more than {PAGES} pages")


def _named(client: Client) -> tuple[str, str]:
    """(name, version) by which the server calls itself; empty where it says neither."""
    info = client.server_info
    return ("", "") if info is None else (info.name, info.version or "")


def text_of(result: theirs.CallToolResult) -> str:
    """The text of a result. What is no text, such as a picture, is named in its place."""
    parts = [_part(block) for block in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    text = "\n".join(parts)
    return text if len(text) <= LONGEST_REPLY else f"{text[:LONGEST_REPLY]} [cut]"


def _part(block: Any) -> str:
    if block.type == "text":
        return block.text
    if block.type == "resource" and isinstance(getattr(block.resource, "text", None), str):
        return block.resource.text
    if block.type == "resource_link":
        return str(block.uri)
    return f"[{block.type}]"


def _innermost(error: BaseException) -> str:
    """An error in words: of a group its first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{error}"[:400] or type(error).__name__
