"""What an MCP server says of itself: its name, its version, and its tools as a world has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError
from assay.worlds.mcp.connection import START_SECONDS, Connection, ServerLost
from assay.worlds.play import Tool

if TYPE_CHECKING:
    from mcp import types as theirs

LONGEST_NAME = 128  # characters of a tool's name
LARGEST = 1 << 16  # characters of a tool's description and schema: a prompt holds them all
KINDS = ("string", "integer", "number", "boolean", "array", "object", "null")


@dataclass(frozen=True)
class Listing:
    """A server as it described itself: Listing("uvx mcp-server-time", "mcp-time", "1.2.0", "2025-06-18", (...,))"""

    server: str  # as a person names it
    name: str
    version: str
    protocol: str
    tools: tuple[Tool, ...]

    @property
    def record(self) -> dict[str, Any]:
        """For run.json."""
        known = {"name": self.name, "version": self.version, "protocol": self.protocol}
        return {**known, "tools": [tool.name for tool in self.tools]}


def listed(server: str, *, seconds: float = START_SECONDS) -> Listing:
    """What a server says of itself, in a session of its own. ConfigError says what is wrong with it."""
    try:
        connection = Connection(server, seconds=seconds)
    except ServerLost as error:
        raise ConfigError(f"{error}. Its tools cannot be listed: does the command, or the address, work?") from None
    try:
        return listing_of(connection)
    finally:
        connection.close()


def listing_of(connection: Connection) -> Listing:
    """What the server of an open session has said. ConfigError names a tool that cannot be described."""
    tools = tuple(_tool(connection.server, tool) for tool in connection.tools)
    if not tools:
        raise ConfigError(f"the MCP server {connection.server} has no tools.")
    if twice := [tool.name for tool in tools if [other.name for other in tools].count(tool.name) > 1]:
        raise ConfigError(f"the MCP server {connection.server} names the tool '{twice[0]}' twice.")
    return Listing(connection.server, connection.name, connection.version, connection.protocol, tools)


def _tool(server: str, tool: theirs.Tool) -> Tool:
    about, schema = tool.description or "", plain_schema(tool.input_schema)
    if not tool.name.isprintable() or not 0 < len(tool.name) <= LONGEST_NAME or any(map(str.isspace, tool.name)):
        raise ConfigError(f"the MCP server {server} names a tool {tool.name!r:.60}, which no model could call.")
    if len(about) + len(json.dumps(schema)) > LARGEST:
        raise ConfigError(f"the tool '{tool.name}' of {server} is described in more than {LARGEST} characters.")
    return Tool(tool.name, about, schema)


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema as calls are checked against it: what is not of the form that JSON schemas have is left out, and the
    server itself says what it makes of such an argument.

    plain_schema({"properties": {"at": {"type": "colour"}}})  # {"type": "object", "properties": {"at": {}}}
    """
    given = schema.get("properties")
    properties = {str(name): _property(of) for name, of in given.items()} if isinstance(given, Mapping) else {}
    required = schema.get("required")
    names = [name for name in required if name in properties] if isinstance(required, list) else []
    further = {name: value for name, value in schema.items() if name in ("$defs", "definitions")}
    return {"type": "object", "properties": properties, **({"required": names} if names else {}), **further}


def _property(schema: Any) -> dict[str, Any]:
    """The schema of an argument, of which only types that JSON has and lists of values are kept as what decides."""
    if not isinstance(schema, Mapping):
        return {}
    kinds = schema.get("type")
    names: Sequence[Any] = kinds if isinstance(kinds, list) else [kinds]
    odd = {"type"} if not names or any(name not in KINDS for name in names) else set[str]()
    odd |= set() if isinstance(schema.get("enum"), list) else {"enum"}
    return {str(name): value for name, value in schema.items() if name not in odd}
