"""MCP servers as the tools of a world.

A process of plays has one session with each server, which its plays share. A server that ended, or said nonsense, is
started again and asked once more; if that fails too, the play has a fault. One that takes too long is ended at once.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from assay.worlds.mcp.connection import Connection, ServerLost, Slow
from assay.worlds.mcp.listing import Listing, listed, listing_of
from assay.worlds.play import Tool, World
from assay.worlds.speech import CHAT, Speech
from assay.worlds.tools import Run, Scene, calling

CALL_SECONDS = 48.0  # that a call may take where nobody says otherwise: a reply of a play apart has 60


class ServerSession:
    """The one session of this process with a server, which is opened anew after it was lost."""

    def __init__(self, server: str) -> None:
        self.server = server
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def connection(self) -> Connection:
        with self._lock:
            if self._connection is not None and self._connection.lost:
                self._connection.close(wait=False)
                self._connection = None
            if self._connection is None:
                self._connection = Connection(self.server)
            return self._connection

    def call(self, name: str, arguments: dict[str, Any], seconds: float) -> str:
        """The reply of a tool, asked once more if the server was lost in between."""
        first = self.connection()
        try:
            return first.call(name, arguments, seconds=seconds)
        except Slow:
            first.close(wait=False)  # the reply is late already
            raise
        except ServerLost:
            return self.connection().call(name, arguments, seconds=seconds)

    def close(self) -> None:
        """Ends the session; a later call opens another."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


_SESSIONS: dict[str, ServerSession] = {}
_LOCK = threading.Lock()


def session(server: str) -> ServerSession:
    """The session of this process with the server of this name."""
    with _LOCK:
        return _SESSIONS.setdefault(server, ServerSession(server))


def served(listings: Sequence[Listing], *, seconds: float = CALL_SECONDS) -> list[tuple[Tool, Run]]:
    """The tools of servers with what calls them. Of tools with one name each has its server's name before it."""
    counts = Counter(tool.name for listing in listings for tool in listing.tools)
    pairs: list[tuple[Tool, Run]] = []
    for listing in listings:
        for tool in listing.tools:
            name = tool.name if counts[tool.name] == 1 else f"{_word(listing)}.{tool.name}"
            pairs.append((Tool(name, tool.about, tool.schema), _running(listing.server, tool.name, seconds)))
    return pairs


def _word(listing: Listing) -> str:
    return "_".join((listing.name or listing.server).split())


def _running(server: str, name: str, seconds: float) -> Run:
    def run(scene: Scene, **arguments: Any) -> str:
        return session(server).call(name, arguments, seconds)

    return run


def open_listings(servers: Sequence[str]) -> list[Listing]:
    """What the servers say of themselves, in the sessions of this process, which stay open."""
    return [listing_of(session(server).connection()) for server in servers]


def mcp_tools(
    servers: Sequence[str],
    *,
    speech: Speech = CHAT,
    fork: Literal["replay", "no"] = "no",
) -> World:
    """The world in which a policy may call the tools of these MCP servers, each `COMMAND ARGS` or an address. They are
    asked at once what tools they have. `fork` is `replay` where the servers keep nothing between calls.

    mcp_tools(["uvx mcp-server-time"])
    """
    return calling(served([listed(server) for server in servers]), speech=speech, apart=True, fork=fork)
