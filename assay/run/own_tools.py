"""Functions of a user as tools of a run: the policy may call them while it answers rows of data.

What a run folder or a file names is imported when the run starts, behind the question whether that is allowed.
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
from assay.worlds.functions import functions


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


def absolute(tools: Sequence[str], pool: Pool) -> tuple[str, ...]:
    """The names of tools with absolute paths. Refuses weights, and tools where there are no rows of data."""
    wishes = [parse(text) for text in tools]
    if heavy := [wish for wish in wishes if wish.weight != 1]:
        raise UsageError(f"the tool {heavy[0]} has a weight, which rewards have: leave it out.")
    if wishes and not any(is_data(share.task) for share in pool.shares):
        raise UsageError("tools are for rows of data, and none are given: name them, or take a task with a world.")
    return tuple(map(str, wishes))


def world_of(tools: Sequence[str], given: Mapping[str, Callable[..., Any]]) -> World:
    """The world of these tools. Those that have files run in processes of their own; if one exists only in the calling
    program, all run in this process, where no limit of time ends them.
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
    return functions(calls, apart=apart, made_of=tools if apart else ())


@contextlib.contextmanager
def equipping(experiment: Experiment, given: Mapping[str, Callable[..., Any]] | None) -> Iterator[Experiment]:
    """Inside the block the rows of the experiment are answered with its tools, of which its chat template tells, or by
    its agent.
    """
    if not experiment.tools:
        with answering(experiment):
            yield experiment
        return
    tasks = sorted({share.task for share in experiment.pool.shares if is_data(share.task)})
    with equipped(tasks, world_of(experiment.tools, given or {})):
        yield dataclasses.replace(experiment, chat=with_tools(experiment.chat, experiment.pool))
