"""`assay compare` for recipes, and `assay sweep`: a study is planned, run and reported."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.arguments import Argument
from assay.cli.problems import HELD_OUT, TASKS
from assay.cli.setups import CONFIG
from assay.cli.verify import ONLY_REWARD, REWARD
from assay.errors import UsageError
from assay.host import terminal

if TYPE_CHECKING:
    from assay.lab.study.plan import Study

DEFAULT_SEEDS, DEFAULT_BUDGET = 5, "steps=100"  # as in assay.lab.study.asked, which help does without
OF_FILES = ("into", "plan", "report", "again", "adopt")  # options that a study in a file takes too
OF_SETUPS = (
    *("task", "wording", "data", "eval_data", "prompt_column", "answer_column", "answer_from_messages"),
    *("steps", "skip_bad_rows", "system", "reward", "only_reward", "right_from", "reward_timeout", "model", "config"),
)
OF_STUDIES = ("seeds", "budget", "trials", "differ", *OF_SETUPS, *OF_FILES)

ASKED: list[Argument] = [*TASKS, HELD_OUT, *REWARD, ONLY_REWARD, *CONFIG]
"""What is asked of every run, as of one that is trained alone."""
COMMON: list[Argument] = [
    (("--seeds",), {"type": int, "help": f"of recipes: how many seeds each is trained with; default {DEFAULT_SEEDS}"}),
    (
        ("--budget",),
        {
            "metavar": "MEASURE=AMOUNT",
            "help": f"of recipes: what each run may spend, tokens=2e6 or steps=100; default {DEFAULT_BUDGET}",
        },
    ),
    (("--steps",), {"type": int, "help": f"of recipes: short for --budget steps=STEPS; default {DEFAULT_BUDGET}"}),
    (("--model",), {"help": "of recipes: the model that all begin from; default: the base of each task"}),
    *ASKED,
    (
        ("--into",),
        {
            "type": Path,
            "metavar": "FOLDER",
            "help": "the folder of the study; default studies/NAME, or beside its file",
        },
    ),
    (("--plan",), {"action": "store_true", "help": "of recipes: print runs and cost, and stop"}),
    (("--report",), {"action": "store_true", "help": "of recipes: write the report of what is done, and run nothing"}),
    (("--again",), {"action": "store_true", "help": "of recipes: repeat runs that other code computed"}),
    (
        ("--adopt",),
        {
            "action": "store_true",
            "help": "of recipes: take results that are there as answers to the study as it is written now, for example "
            "after a setting was renamed",
        },
    ),
]
ARGUMENTS: list[Argument] = [
    (
        ("--study",),
        {"type": Path, "metavar": "FILE", "help": "a study in a TOML file, in place of recipes; default: none"},
    ),
    (
        ("--trials",),
        {
            "metavar": "FACTORS",
            "help": "of recipes: factors of each one's learning rate to try, for example 0.5,1,2; default: none",
        },
    ),
    (
        ("--differ",),
        {
            "action": "append",
            "metavar": "SETTING",
            "help": "of recipes: a setting beside their methods in which they may differ; default: none",
        },
    ),
    *COMMON,
]
SWEEP: list[Argument] = [
    (("recipe",), {"metavar": "RECIPE", "help": "the recipe whose settings are tried"}),
    (
        ("--over",),
        {
            "action": "append",
            "metavar": "SETTING=VALUES",
            "help": "values of a setting, for example scale.learning-rate=1e-4,2e-4; repeat for a grid of several; "
            "default: none",
        },
    ),
    *COMMON,
]


def refuse_lone(arguments: argparse.Namespace) -> None:
    """Refuses options of studies beside the folders of runs, which are compared as they are."""
    if given := _given(arguments, (*OF_STUDIES, "overrides")):
        named = " ".join(arguments.what) or "nothing"
        raise UsageError(
            f"--{given} is for comparing recipes, and {named} names no recipe. `assay list recipes` shows all."
        )


def _given(arguments: argparse.Namespace, names: Sequence[str]) -> str | None:
    """The first of these options that is given; of settings, the first one's name."""
    given = next((name for name in names if name in arguments.typed), None)
    if given is None and "overrides" in names and arguments.overrides:
        return next(iter(arguments.overrides))
    return given and given.replace("_", "-")


def study_of(arguments: argparse.Namespace) -> tuple[Study, Path]:
    """The study that a command line of `assay compare` describes, and its folder."""
    from assay.cli.setups import setup_of
    from assay.lab.study import read
    from assay.lab.study.asked import first_experiment, of_recipes
    from assay.run.trust import Trust

    if arguments.plot:
        raise UsageError("--plot draws the curves of runs; the report of a study has charts of its own.")
    if arguments.study:
        others = [name for name in (*OF_STUDIES, "overrides") if name not in OF_FILES]
        option = _given(arguments, others)
        if arguments.what or option:
            other = arguments.what[0] if arguments.what else f"--{option}"
            raise UsageError(f"{arguments.study} says the whole study: leave {other} out, or write it into the file.")
        trust = Trust.of(code=arguments.trust_code, addresses=arguments.trust_addresses)
        return read(arguments.study, trust), arguments.into or arguments.study.with_suffix("")
    try:
        trials = tuple(float(rate) for rate in (arguments.trials or "").split(",") if rate)
    except ValueError:
        raise UsageError(f"--trials {arguments.trials}: write factors, for example 0.5,1,2.") from None
    setup, allowed = setup_of(arguments)
    rest = {"trials": trials, "differ": tuple(arguments.differ or ()), **_size(arguments)}
    study, folder = of_recipes(arguments.what, setup, **rest)
    allowed(first_experiment(study))
    return study, arguments.into or folder


def sweep_of(arguments: argparse.Namespace) -> tuple[Study, Path]:
    """The study of a command line of `assay sweep`: the recipe as it is, and an arm for each point of the grid."""
    from assay.cli.setups import setup_of
    from assay.lab.study.asked import first_experiment, of_grid

    grid = dict(_values(text) for text in arguments.over or ())
    if len(grid) < len(arguments.over or ()) or not grid:
        raise UsageError(
            "a sweep needs --over SETTING=VALUE,VALUE, once for each setting; for example "
            "--over scale.learning-rate=1e-4,2e-4 --over scale.group-size=8,16."
        )
    setup, allowed = setup_of(arguments)
    study, folder = of_grid(arguments.recipe, grid, setup, **_size(arguments))
    allowed(first_experiment(study))
    return study, arguments.into or folder


def _values(text: str) -> tuple[str, list[str]]:
    name, equals, values = text.partition("=")
    found = [value for value in values.split(",") if value]
    if not equals or not name or not found or len(set(found)) < len(found):
        raise UsageError(f"--over is SETTING=VALUE,VALUE with different values, not {text!r}.")
    return name, found


def _size(arguments: argparse.Namespace) -> dict[str, Any]:
    """How many runs a study has, and what each may spend."""
    if arguments.budget and arguments.steps:
        raise UsageError(f"--steps is short for --budget steps={arguments.steps}: leave one of the two out.")
    return {"seeds": arguments.seeds, "budget": arguments.budget}


def run_compare(arguments: argparse.Namespace) -> Any:
    """`assay compare` for recipes, or for a study in a file."""
    return _run(*study_of(arguments), arguments)


def run_sweep(arguments: argparse.Namespace) -> Any:
    return _run(*sweep_of(arguments), arguments)


def _run(study: Study, folder: Path, arguments: argparse.Namespace) -> Any:
    """Plans, runs and reports a study that was checked."""
    from assay.lab.study import queue
    from assay.lab.study.carried import carry_out

    if arguments.adopt:
        terminal.say(f"{queue.adopt(study, folder)} results of {folder} answer the study as it is written now")
    plan = queue.outlook(study, folder)
    if arguments.plan:
        if not arguments.json:
            terminal.show("\n".join(plan.lines()))
        return plan.document()
    for line in () if arguments.quiet else plan.lines():
        terminal.say(line)
    carried = carry_out(study, folder, report=arguments.report, again=arguments.again, quiet=arguments.quiet)
    if not arguments.json:
        terminal.show(carried.text)
    terminal.say(f"report  {carried.report}")
    return carried.document()
