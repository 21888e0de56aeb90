"""Agents that are foreign programs: inside a run the problems are answered at the door (`assay.worlds.door`)."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
import shutil
from collections.abc import Iterator

from assay.errors import ConfigError
from assay.run.experiment import Experiment
from assay.tasks import TASKS, task


def check_agent(experiment: Experiment) -> None:
    """Refuses (ConfigError) a program that cannot be started, and tasks whose worlds it would replace."""
    command = experiment.agent.command
    if not command:
        return
    try:
        line = shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"agent.command is {command!r}, which no shell reads: {error}.") from None
    if not line or shutil.which(line[0]) is None:
        raise ConfigError(
            f"agent.command is {command!r}, and there is no program {(line or [''])[0]!r}: write the program and its "
            "arguments, such as 'python agent.py'."
        )
    for share in experiment.pool.shares:
        if task(share.task).world is not None:
            raise ConfigError(
                f"'{share.task}' has a world of its own, and an agent would stand in its place: take a task without."
            )


@contextlib.contextmanager
def answering(experiment: Experiment) -> Iterator[None]:
    """Inside the block the problems of the experiment are answered by its agent, if it has one."""
    command, names = experiment.agent.command, sorted({share.task for share in experiment.pool.shares})
    if not command:
        yield
        return
    from assay.worlds.door import DoorSettings

    seconds = experiment.machine.reply_seconds
    world = DoorSettings(command, rewarded=experiment.agent.reward, seconds=seconds).world()
    before = {name: TASKS[name] for name in names if name in TASKS}
    TASKS.update({name: dataclasses.replace(task(name), world=world) for name in names})
    try:
        yield
    finally:
        TASKS.update(before)  # a name that is set again keeps its place among the others
        for name in set(names) - set(before):
            del TASKS[name]
