"""All tasks by name. This package does not import torch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import EntryPoint

from assay.errors import ConfigError, unknown
from assay.host import offers
from assay.host.offers import Offer
from assay.tasks.data import is_data
from assay.tasks.given import GIVEN, given
from assay.tasks.harder import HARDER, Hardening, harder
from assay.tasks.judging import COMPARE, JUDGE, judging
from assay.tasks.lazy_tasks import LazyTasks
from assay.tasks.pose import PREFIX, Posing, pose
from assay.tasks.replies import SILENT, with_those_of_another, without_replies
from assay.tasks.steps import Chain
from assay.tasks.task import Ability, Task
from assay.types import CONTROLS, Problem, asked_in
from assay.worlds.foreign import BRIDGES

ALPHABET = "".join(map(chr, range(ord(" "), ord("~") + 1)))
"""Every character that compact wordings and their solutions may use."""

TASKS = LazyTasks(
    {
        "mod-chain": "modchain:MOD_CHAIN",
        "mod-chain-7": "modchain:MOD_CHAIN_7",
        "countdown": "countdown:COUNTDOWN",
        "list-fn": "lists:LIST_FN",
        "bool": "boolean:BOOL",
        "path": "paths:PATH",
        "knights": "knights:KNIGHTS",
        "compose": "compose:COMPOSE",
        "lis": "subsequence:LIS",
        "activity": "activities:ACTIVITY",
        "lookup-tool": "lookup:LOOKUP",
        "lookup-faulty": "lookup:LOOKUP_FAULTY",
        "lookup-strict": "lookup:LOOKUP_STRICT",
        "calculator": "calculator:CALCULATOR",
        "interpreter": "interpreter:INTERPRETER",
        "equivalence": "equivalence:EQUIVALENCE",
        "dsl-deduction": "dsl:DEDUCTION",
        "dsl-abduction": "dsl:ABDUCTION",
        "dsl-induction": "dsl:INDUCTION",
        "python-deduction": "python_programs:PYTHON_DEDUCTION",
        "python-abduction": "python_programs:PYTHON_ABDUCTION",
        "python-induction": "python_programs:PYTHON_INDUCTION",
        "programs": "programs:PROGRAMS",
        "linear-program": "linear_program:LINEAR_PROGRAM",
        "sql": "sql:SQL",
        "sql-tool": "sql_tool:SQL_TOOL",
        "smt": "smt:SMT",
        "metamath": "metamath:METAMATH",
        "verilog": "verilog:VERILOG",
        "coq": "coq:COQ",
        "calls": "calls:CALLS",
        "repair": "repair:REPAIR",
        "constraints": "constraints:CONSTRAINTS",
        "binario": "binario:BINARIO",
        "kakurasu": "kakurasu:KAKURASU",
        "stack": "stacks:STACK",
        "search": "search:SEARCH",
        "search-small": "search:SEARCH_SMALL",
        "search-python": "search_python:SEARCH_PYTHON",
        "search-python-small": "search_python:SEARCH_PYTHON_SMALL",
        "search-stream": "search_stream:SEARCH_STREAM",
        "trace": "trace:TRACE",
        "quantities": "quantities:QUANTITIES",
        "quantities-python": "quantities_python:QUANTITIES_PYTHON",
        "grids": "coloured:GRIDS",
        "drawing": "drawing:DRAWING",
        "words": "words:WORDS",
        "sentence": "sentences:SENTENCE",
        "sentence-strict": "sentences:SENTENCE_STRICT",
        "object": "objects:OBJECT",
        "times": "figures:TIMES",
        "sums": "figures:SUMS",
        "tsp": "decisions.tsp:TSP",
        "coq-steps": "coq_steps:COQ_STEPS",
        "metamath-steps": "metamath_steps:METAMATH_STEPS",
        "verilog-turns": "verilog_turns:VERILOG_TURNS",
        "equation": "equation:EQUATION",
        "equation-memory": "equation_memory:EQUATION_MEMORY",
        "coq-library": "coq_library:COQ_LIBRARY",
        "coq-library-steps": "coq_steps:COQ_LIBRARY_STEPS",
        "wish": "wish:WISH",
        "wish-model": "wish:WISH_MODEL",
        "wish-reply": "wish:WISH_REPLY",
    }
)
"""Name -> task. A task stands as `module:NAME`, and its module is imported when somebody asks for the task."""

BUILT_IN = frozenset(TASKS)
"""The names of the tasks that come with Assay. `TASKS` also holds those that a package or a program adds."""

_GYM, _CHAIN, _ENVIRONMENT, _PAGES, _GAME, _THEOREMS = "gym:", "chain:", "env:", "pages:", "game:", "theorems:"
FOREIGN = tuple(f"{name}:" for name in BRIDGES)
MADE_ON_DEMAND = (
    *(_GYM, _CHAIN, _ENVIRONMENT, _PAGES, _GAME, _THEOREMS),
    *FOREIGN,
    *(JUDGE, COMPARE, HARDER, *CONTROLS),
)
"""How names of tasks begin that are made of other names, and not listed."""


def task(name: str) -> Task:
    """The task of this name.

    A name is that of a built-in task or of another package's task, `pose:NAME` (posing problems of a task),
    `judge:NAME` or `compare:NAME` (judging answers to a task), `harder:NAME` (writing harder variants of its problems),
    `silent:NAME` or `shuffled:NAME` (controls: its problems with no replies, or those of another play), `gym:NAME` (a
    generator of reasoning-gym), `chain:STATES`, `env:NAME` (an environment of gymnasium), `game:NAME` (a game for two),
    `textarena:NAME` and its like (environments of other libraries), `pages:FOLDER` (questions about pages of your own),
    `theorems:FILE` (theorems of a database of Metamath) or `data:PATH` (the rows of a file).

        task("countdown").problem(Key(0), level=3)
    """
    if name in TASKS:
        return TASKS[name]
    if name.startswith(_GYM):
        from assay.tasks.gym.task import gym_task

        return gym_task(name.removeprefix(_GYM))
    if name.startswith(_CHAIN):
        from assay.tasks.control.chain import chain_task

        return chain_task(name.removeprefix(_CHAIN))
    if name.startswith(_ENVIRONMENT):
        from assay.tasks.control.environments import environment_task

        return environment_task(name.removeprefix(_ENVIRONMENT))
    if name.startswith(_GAME):
        from assay.tasks.games import game_task

        return game_task(name.removeprefix(_GAME))
    if name.startswith(FOREIGN):
        from assay.tasks.games.foreign import foreign_task

        return foreign_task(name)
    if name.startswith(_PAGES):
        from assay.tasks.own_pages import pages_task

        return pages_task(name)
    if name.startswith(_THEOREMS):
        from assay.tasks.own_theorems import theorems_task

        return theorems_task(name)
    if is_data(name):
        from assay.tasks.data.task import data_task

        return data_task(name)
    if name.startswith(PREFIX):
        posed = task(name.removeprefix(PREFIX))
        return pose(posed, posing_of(posed))
    if name.startswith(HARDER):
        varied = task(name.removeprefix(HARDER))
        if (hardening := varied.ability(Hardening)) is None:
            raise ConfigError(
                f"nobody has said how problems of '{varied.name}' become harder; of {able(Hardening)} they can."
            )
        return harder(varied, hardening)
    if name.startswith(GIVEN):
        return given(task(name.removeprefix(GIVEN)))
    if name.startswith(CONTROLS):
        return controlled(name, task(asked_in(name)))
    for kind in (JUDGE, COMPARE):
        if name.startswith(kind):
            return judging(task(name.removeprefix(kind)), kind)
    others()
    if name not in TASKS:
        raise unknown("task", name, TASKS, "assay list tasks")
    return TASKS[name]


def controlled(name: str, of: Task) -> Task:
    """The control of a task that this name says."""
    return (without_replies if name.startswith(SILENT) else with_those_of_another)(of)


def posing_of(posed: Task) -> Posing:
    """How a policy poses problems of a task. A task whose problems cannot be posed is an error."""
    posing = posed.ability(Posing)
    if posing is None:
        raise ConfigError(f"problems of '{posed.name}' cannot be posed by a policy; problems of {able(Posing)} can.")
    return posing


def able(kind: type[Ability]) -> str:
    """The names of the listed tasks that have an ability of this kind, for messages."""
    return ", ".join(sorted(name for name, known in TASKS.items() if known.ability(kind) is not None))


def of_hub(name: str) -> tuple[str, ...]:
    """The data sets of the Hub that a task of this name reads: none, unless it is that of data."""
    for kind in (_GYM, PREFIX, HARDER, GIVEN, *CONTROLS, JUDGE, COMPARE):
        if name.startswith(kind):
            return of_hub(name.removeprefix(kind))
    if not is_data(name):
        return ()
    from assay.tasks.data.files import is_hub
    from assay.tasks.data.task import Data

    described = Data.of(name)
    return tuple(place for place in (*described.places, *described.held_out) if is_hub(place))


def chain_of(problem: Problem, text: str) -> Chain | None:
    """The steps of a response, each with a verdict; None if no task that is known verifies its steps."""
    return TASKS[problem.task].chain(problem, text) if problem.task in TASKS else None


def chains_of(pairs: Sequence[tuple[Problem, str]]) -> list[Chain | None]:
    """The steps of each response, read all at once; None for a task that does not verify steps."""
    found: list[Chain | None] = [None] * len(pairs)
    for name in dict.fromkeys(problem.task for problem, _ in pairs):
        places = [place for place, (problem, _) in enumerate(pairs) if problem.task == name]
        for place, chain in zip(places, task(name).chains([pairs[place] for place in places]), strict=True):
            found[place] = chain
    return found


def num_rules(problem: Problem) -> int:
    """How many rules the problem's task knows that an answer must keep; 0 if it knows none."""
    rules = TASKS[problem.task].checker.rules if problem.task in TASKS else None
    return 0 if rules is None else len(rules(problem.spec, ""))


def others() -> tuple[Offer, ...]:
    """Adds the tasks of other packages to `TASKS`, once in a process, and returns what these packages offer."""
    return offers.load("task", add)


def add(entry: EntryPoint) -> None:
    """Adds a task of another package to `TASKS`. An object that is no task, or a name that is taken, is an error."""
    found = offers.imported(entry)
    if not isinstance(found, Task) or found.name != entry.name:
        raise offers.wrong(entry, f"a Task of the name '{entry.name}'", found)
    levels = found.generator.levels
    if not isinstance(levels, range) or not levels:
        raise ConfigError(f"{offers.said(entry)}, whose levels are {levels!r}: expected a range that is not empty.")
    if TASKS.setdefault(entry.name, found) is not found:
        raise ConfigError(f"{offers.said(entry)}, and there is a task of this name already. Give it another name.")


def short(name: str) -> str:
    """A task's name in titles and folders. For rows of a file, it is the file's name without its folder."""
    if name.startswith(_PAGES):
        return f"pages-{name.rpartition('/')[2].removeprefix(_PAGES)}"
    if name.startswith(_THEOREMS):
        return f"theorems-{name.rpartition('/')[2].removeprefix(_THEOREMS).removesuffix('.json')}"
    if not is_data(name):
        return re.sub(r"[:/@]+", "-", name)
    from assay.tasks.data.task import Data

    return Data.of(name).label
