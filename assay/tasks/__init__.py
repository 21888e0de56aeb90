"""All tasks by name. This package does not import torch."""

from __future__ import annotations

from importlib.metadata import EntryPoint

from assay.errors import ConfigError, unknown
from assay.host import offers
from assay.host.offers import Offer
from assay.tasks.activities import ACTIVITY
from assay.tasks.boolean import BOOL
from assay.tasks.calculator import CALCULATOR
from assay.tasks.calls import CALLS
from assay.tasks.compose import COMPOSE
from assay.tasks.constraints import CONSTRAINTS
from assay.tasks.coq import COQ
from assay.tasks.countdown import COUNTDOWN
from assay.tasks.data.task import Data, data_task, is_data
from assay.tasks.dsl import ABDUCTION, DEDUCTION, INDUCTION
from assay.tasks.knights import KNIGHTS
from assay.tasks.linear_program import LINEAR_PROGRAM
from assay.tasks.lists import LIST_FN
from assay.tasks.lookup import LOOKUP, LOOKUP_FAULTY, LOOKUP_STRICT
from assay.tasks.metamath import METAMATH
from assay.tasks.modchain import MOD_CHAIN, MOD_CHAIN_7
from assay.tasks.paths import PATH
from assay.tasks.pose import PREFIX, pose
from assay.tasks.programs import PROGRAMS
from assay.tasks.repair import REPAIR
from assay.tasks.smt import SMT
from assay.tasks.sql import SQL
from assay.tasks.subsequence import LIS
from assay.tasks.task import Task
from assay.tasks.verilog import VERILOG

ALPHABET = "".join(map(chr, range(ord(" "), ord("~") + 1)))
"""Every character that compact wordings and their solutions may use."""

TASKS: dict[str, Task] = {
    "mod-chain": MOD_CHAIN,
    "mod-chain-7": MOD_CHAIN_7,
    "countdown": COUNTDOWN,
    "list-fn": LIST_FN,
    "bool": BOOL,
    "path": PATH,
    "knights": KNIGHTS,
    "compose": COMPOSE,
    "lis": LIS,
    "activity": ACTIVITY,
    "lookup-tool": LOOKUP,
    "lookup-faulty": LOOKUP_FAULTY,
    "lookup-strict": LOOKUP_STRICT,
    "calculator": CALCULATOR,
    "dsl-deduction": DEDUCTION,
    "dsl-abduction": ABDUCTION,
    "dsl-induction": INDUCTION,
    "programs": PROGRAMS,
    "linear-program": LINEAR_PROGRAM,
    "sql": SQL,
    "smt": SMT,
    "metamath": METAMATH,
    "verilog": VERILOG,
    "coq": COQ,
    "calls": CALLS,
    "repair": REPAIR,
    "constraints": CONSTRAINTS,
}

_GYM = "gym:"


def task(name: str) -> Task:
    """The task of this name.

    A name is that of a built-in task or of another package's task, `pose:NAME` (posing problems
    of a task), `gym:NAME` (a generator of reasoning-gym) or `data:PATH` (the rows of a file).

        task("countdown").problem(Key(0), level=3)
    """
    if name in TASKS:
        return TASKS[name]
    if name.startswith(_GYM):
        from assay.tasks.gym.task import gym_task

        return gym_task(name.removeprefix(_GYM))
    if is_data(name):
        return data_task(name)
    if name.startswith(PREFIX):
        posed = task(name.removeprefix(PREFIX))
        if posed.posing is None:
            able = ", ".join(n for n, t in TASKS.items() if t.posing is not None)
            raise ConfigError(f"problems of '{posed.name}' cannot be posed by a policy; problems of {able} can.")
        return pose(posed)
    others()
    if name not in TASKS:
        raise unknown("task", name, TASKS, "assay list tasks")
    return TASKS[name]


def others() -> tuple[Offer, ...]:
    """Adds the tasks of other packages to `TASKS`, once in a process, and returns what these packages offer."""
    return offers.load("task", add)


def add(entry: EntryPoint) -> None:
    """Adds a task of another package to `TASKS`. An object that is no task, or a name that is taken, is an error."""
    found = offers.imported(entry)
    if not isinstance(found, Task) or found.name != entry.name:
        raise offers.wrong(entry, f"a Task of the name '{entry.name}'", found)
    if not isinstance(found.levels, range) or not found.levels:
        raise ConfigError(
            f"{offers.said(entry)}, whose levels are {found.levels!r}: expected a range that is not empty."
        )
    if TASKS.setdefault(entry.name, found) is not found:
        raise ConfigError(f"{offers.said(entry)}, and there is a task of this name already. Give it another name.")


def short(name: str) -> str:
    """A task's name in titles and folders. For rows of a file, it is the file's name without its folder."""
    return Data.of(name).label if is_data(name) else name.replace(":", "-")
