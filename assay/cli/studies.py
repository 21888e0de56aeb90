"""`assay compare` for recipes: a study is planned from the command line or a file, run, and reported."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.arguments import Argument
from assay.errors import UsageError
from assay.host import terminal

if TYPE_CHECKING:
    from assay.lab.study.plan import Study

DEFAULT_SEEDS, DEFAULT_BUDGET, DEFAULT_TASK = 5, "steps=100", "countdown:3,4"
OF_STUDIES = ("task", "seeds", "budget", "model", "trials", "differ", "into", "plan", "again")

ARGUMENTS: list[Argument] = [
    (
        ("--study",),
        {"type": Path, "metavar": "FILE", "help": "a study in a TOML file, in place of recipes; default: none"},
    ),
    (
        ("--task",),
        {
            "action": "append",
            "metavar": "NAME[:LEVELS]",
            "help": f"of recipes: a task to compare them on; repeat for several; default {DEFAULT_TASK}",
        },
    ),
    (("--seeds",), {"type": int, "help": f"of recipes: how many seeds each is trained with; default {DEFAULT_SEEDS}"}),
    (
        ("--budget",),
        {
            "metavar": "MEASURE=AMOUNT",
            "help": f"of recipes: what each run may spend, tokens=2e6 or steps=100; default {DEFAULT_BUDGET}",
        },
    ),
    (("--model",), {"help": "of recipes: the model that all begin from; default: the base of each task"}),
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
    (("--into",), {"type": Path, "metavar": "FOLDER", "help": "the folder of the study; default studies/NAME"}),
    (("--plan",), {"action": "store_true", "help": "of recipes: print runs and cost, and stop"}),
    (("--again",), {"action": "store_true", "help": "of recipes: repeat runs that other code computed"}),
]


def refuse_lone(arguments: argparse.Namespace) -> None:
    """Refuses options of studies beside the folders of runs, which are compared as they are."""
    if given := [name for name in (*OF_STUDIES, "overrides") if getattr(arguments, name)]:
        given = [next(iter(arguments.overrides))] if given == ["overrides"] else given
        named = " ".join(arguments.what) or "nothing"
        raise UsageError(
            f"--{given[0]} is for comparing recipes, and {named} names no recipe. `assay list recipes` shows all."
        )


def study_of(arguments: argparse.Namespace) -> tuple[Study, str]:
    """The study that the command line describes, and its name."""
    from assay.lab.study.plan import Arm, Budget, Study, check, read, tasks_of

    if arguments.study:
        if arguments.what or any(
            getattr(arguments, name) for name in OF_STUDIES if name not in ("into", "plan", "again")
        ):
            raise UsageError(
                f"{arguments.study} says the whole study: leave recipes, --task, --seeds and the like out."
            )
        return read(arguments.study), arguments.study.stem
    seeds = DEFAULT_SEEDS if arguments.seeds is None else arguments.seeds
    try:
        trials = tuple(float(rate) for rate in (arguments.trials or "").split(",") if rate)
    except ValueError:
        raise UsageError(f"--trials {arguments.trials}: write factors, for example 0.5,1,2.") from None
    if repeated := {name for name in arguments.what if arguments.what.count(name) > 1}:
        raise UsageError(f"{min(repeated)} is named twice; two forms of a recipe are two arms of a study in a file.")
    study = Study(
        arms={name: Arm(name) for name in arguments.what},
        tasks=tasks_of(arguments.task or [DEFAULT_TASK]),
        seeds=tuple(range(seeds)),
        budget=Budget.parse(arguments.budget or DEFAULT_BUDGET),
        trials=trials,
        model=arguments.model or "",
        settings=arguments.overrides,
        differ=tuple(arguments.differ or ()),
    )
    check(study)
    return study, "-".join(
        [*arguments.what[:3], *([f"and-{len(arguments.what) - 3}"] if len(arguments.what) > 3 else [])]
    )


def run_study(arguments: argparse.Namespace) -> Any:
    from assay.lab.study import analysis, page, queue

    study, name = study_of(arguments)
    folder = arguments.into or Path("studies") / name
    plan = queue.outlook(study, folder)
    if arguments.plan:
        if not arguments.json:
            terminal.show("\n".join(plan.lines()))
        return plan.document()
    tell = _silent if arguments.quiet else terminal.say
    for line in plan.lines():
        tell(line)
    results = queue.fill(study, folder, again=arguments.again, tell=tell)
    findings = analysis.analyse(study, results)
    report = page.write(findings, folder)
    if not arguments.json:
        terminal.show(page.table(findings))
        terminal.show(findings.conclusion)
    terminal.say(f"report  {report}")
    return {**analysis.as_json(findings), "folder": str(folder), "report": str(report)}


def _silent(_: str) -> None:
    """Says nothing, for --quiet."""
