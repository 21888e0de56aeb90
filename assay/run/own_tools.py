"""Functions of a user, and MCP servers, as tools of a run: the policy may call them while it answers rows of data.

What a run folder or a file names is imported, started or asked when the run starts, behind the question whether
that is allowed.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from assay.errors import ConfigError, UsageError
from assay.run.agents import answering
from assay.run.experiment import Experiment
from assay.run.spoken_tools import with_tools
from assay.source import Pool
from assay.tasks.data import is_data
from assay.tasks.data.task import equipped
from assay.verifiers.functions.naming import NAMELESS, imported, named, names, parse
from assay.worlds import World
from assay.worlds.functions import pairs_of
from assay.worlds.mcp import Listing, listed, served
from assay.worlds.mcp.server_names import whole
from assay.worlds.speech import CHAT
from assay.worlds.tools import calling


def tool_names_of(tools: Any) -> tuple[tuple[str, ...], dict[str, Callable[..., Any]]]:
    """(the tools as `--tools` would name them, those given as Python functions by name)."""
    items = list(tools) if isinstance(tools, list | tuple) else [tools]
    if wrong := [item for item in items if not (isinstance(item, str) or callable(item))]:
        raise UsageError(
            "tools is a function, the text 'FILE.py:FUNCTION', or a list of these, "
            f"and not {wrong[0]!r}, of type {type(wrong[0]).__name__}."
        )
    wishes = [parse(item) if isinstance(item, str) else named(item) for item in items]
    given = {name: item for name, item in zip(names(wishes), items, strict=True) if not isinstance(item, str)}
    return tuple(map(str, wishes)), given


def servers_named(mcp: Any) -> tuple[str, ...]:
    """The MCP servers that a program names: a text, or a list of texts."""
    items = [mcp] if isinstance(mcp, str) else list(mcp) if isinstance(mcp, list | tuple) else [mcp]
    if wrong := [item for item in items if not isinstance(item, str)]:
        raise UsageError(
            "mcp is the command of an MCP server, 'COMMAND ARGS', its address, or a list of these, "
            f"and not {wrong[0]!r}, of type {type(wrong[0]).__name__}."
        )
    return tuple(items)


def absolute(tools: Sequence[str], mcp: Sequence[str], pool: Pool) -> dict[str, tuple[str, ...]]:
    """The names of tools and MCP servers with absolute paths. Refuses weights, and tools where no rows of data are."""
    wishes = [parse(text) for text in tools]
    if heavy := [wish for wish in wishes if wish.weight != 1]:
        raise UsageError(f"the tool {heavy[0]} has a weight, which rewards have: leave it out.")
    if (wishes or mcp) and not any(is_data(share.task) for share in pool.shares):
        raise UsageError("tools are for rows of data, and none are given: name them, or take a task with a world.")
    servers = tuple(map(whole, mcp))
    if twice := [server for server in servers if servers.count(server) > 1]:
        raise UsageError(f"the MCP server {twice[0]} is named twice: leave one of the two out.")
    return {"tools": tuple(map(str, wishes)), "mcp": servers}


def world_of(tools: Sequence[str], given: Mapping[str, Callable[..., Any]], servers: Sequence[Listing] = ()) -> World:
    """The world of these tools. Those that have files, and those of MCP servers, run in processes of their own; if a
    function exists only in the calling program, all run in this process, where no limit of time ends them.
    """
    wishes = [parse(text) for text in tools]
    calls = []
    for name, wish in zip(names(wishes), wishes, strict=True):
        if wish.place == NAMELESS and name not in given:
            raise ConfigError(
                f"the tool '{name}' of this run was a Python object that has no file to load it from. Resume from "
                "Python with assay.resume(RUN, tools=FUNCTION), or put it into a file of its own."
            )
        calls.append(given[name] if name in given else imported(wish))
    apart = all(wish.place != NAMELESS for wish in wishes)
    if servers and not apart:
        raise ConfigError(
            "tools of MCP servers run in processes of their own, into which a function of the calling program cannot "
            "go: put the function into a file of its own."
        )
    named = tuple(listing.server for listing in servers)
    pairs = [*pairs_of(calls), *served(servers)]
    how = {"made_of": tools if apart else (), "servers": named}
    return calling(pairs, speech=CHAT, apart=apart, fork="no" if servers else "replay", **how)


_LISTINGS: dict[str, Listing] = {}
"""What the MCP servers of the run at hand said of themselves when they were asked last."""


@contextlib.contextmanager
def equipping(experiment: Experiment, given: Mapping[str, Callable[..., Any]] | None) -> Iterator[Experiment]:
    """Inside the block the rows of the experiment are answered with its tools, of which its chat template tells, or by
    its agent.
    """
    if not has_tools(experiment):
        with answering(experiment):
            yield experiment
        return
    with playing_with(experiment, given or {}, experiment.pool):
        yield dataclasses.replace(experiment, chat=with_tools(experiment.chat, experiment.pool))


@contextlib.contextmanager
def playing_with(experiment: Experiment, given: Mapping[str, Callable[..., Any]], pool: Pool) -> Iterator[None]:
    """Inside the block the rows of a pool are answered with the tools of the experiment."""
    tasks = sorted({share.task for share in pool.shares if is_data(share.task)})
    _LISTINGS.update({server: listed(server) for server in experiment.mcp})
    with equipped(tasks, world_of(experiment.tools, given, [_LISTINGS[server] for server in experiment.mcp])):
        yield


def has_tools(experiment: Experiment) -> bool:
    """Whether the rows of a run are answered with tools of its user's."""
    return bool(experiment.tools or experiment.mcp)


def records_of_servers(experiment: Experiment) -> dict[str, Any]:
    """MCP server -> its name, version and tools, for run.json."""
    return {server: _LISTINGS[server].record for server in experiment.mcp}


def changes_of_servers(experiment: Experiment, known: Mapping[str, Any]) -> list[str]:
    """What MCP servers say of themselves now, where that differs from what the run began with."""
    now = records_of_servers(experiment)
    return [
        f"the MCP server {server} is {_told(now[server])}, and was {_told(known[server])} when the run began"
        for server in now
        if server in known and now[server] != known[server]
    ]


def _told(record: Mapping[str, Any]) -> str:
    return f"{record['name']} {record['version']} with {', '.join(record['tools'])}"
