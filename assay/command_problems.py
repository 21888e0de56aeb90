"""Which problems a command names: generated tasks, files of rows, and the verb that looks at a file."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from assay.arguments import Argument, one_of
from assay.errors import UsageError
from assay.tasks.task import Wording

if TYPE_CHECKING:
    from assay.source import Pool, Share
    from assay.tasks.data import Data

DEFAULT_TASK = "countdown:3,4"

COLUMNS: list[Argument] = [
    (
        ("--prompt-column",),
        {"default": "", "metavar": "NAME", "help": "default: prompt, messages, question or problem"},
    ),
    (("--answer-column",), {"default": "", "metavar": "NAME", "help": "default: see docs/data.md"}),
    (
        ("--system",),
        {"default": "", "metavar": "TEXT", "help": "a system message for rows that have none; default none"},
    ),
    (("--skip-bad-rows",), {"action": "store_true", "help": "leave out rows that cannot be used"}),
]
HELD_OUT: Argument = (
    ("--eval-data",),
    {"metavar": "FILE", "help": "held-out rows; then all of --data trains; default: a fifth of --data"},
)
TASKS: list[Argument] = [
    (
        ("--task",),
        {
            "action": "append",
            "metavar": "NAME[:LEVELS][=WEIGHT]",
            "help": f"repeat for a mixture; default {DEFAULT_TASK}",
        },
    ),
    (
        ("--wording",),
        one_of(
            "wording",
            get_args(Wording),
            see="assay train --help",
            help="compact for proxy models, natural for real ones; default compact, with --data natural",
        ),
    ),
    (
        ("--data",),
        {
            "metavar": "FILE|HUB",
            "help": "rows: .jsonl, .json, .csv, .tsv, .parquet, or owner/name:split; default: tasks alone",
        },
    ),
    *COLUMNS,
]
CHECK: list[Argument] = [
    (("action",), one_of("action", ("check",), see="assay data --help")),
    (("file",), {"metavar": "FILE|HUB"}),
    (("--model",), {"help": "whose tokens and context count; default: characters"}),
    HELD_OUT,
    *COLUMNS,
    (
        ("--reward",),
        {"metavar": "FILE.py:FUNCTION", "help": "what it says of the answers that the rows give; default: no function"},
    ),
]


def pool_of(arguments: argparse.Namespace, *, exam_of: str | None = None) -> Pool:
    """`--data FILE` and every `--task`, mixed; the default task where neither is named. `exam_of` names the model that
    is to be examined.
    """
    from assay.source import Pool, check_pool

    files = [] if arguments.data is None else [_file_share(arguments, exam_of)]
    named = arguments.task or ([] if files else [DEFAULT_TASK])
    _refuse_lone_columns(arguments)
    wording = arguments.wording or ("natural" if files else "compact")
    pool = Pool((*files, *(_task_share(text) for text in named)), wording=wording)
    check_pool(pool)
    return pool


def _file_share(arguments: argparse.Namespace, exam_of: str | None) -> Share:
    from assay.source import Share
    from assay.tasks.data import data

    held_out = getattr(arguments, "eval_data", None)
    found = data(arguments.data, held_out=held_out, **said(arguments))
    return Share(found.name if exam_of is None else exam(found, exam_of))


def said(arguments: argparse.Namespace) -> dict[str, Any]:
    """How the rows are to be read."""
    names = ("prompt_column", "answer_column", "system", "skip_bad_rows")
    return {name: getattr(arguments, name) for name in names}


def exam(found: Data, model: str) -> str:
    """The rows of a file that a model can be examined on: all, or for a run that trained on some of them the others."""
    from assay.tasks.data import Data, is_data, rows_of

    path = Path(model).resolve()
    if run := next((folder for folder in (path, *path.parents) if (folder / "run.json").is_file()), None):
        from assay.record.folder import RunFolder

        shares = RunFolder.read_only(run).document["experiment"]["pool"]["shares"]
        learnt = [Data.of(share["task"]) for share in shares if is_data(share["task"])]
        if known := [other for other in learnt if other.place == found.place]:
            sys.stderr.write(f"{found.label}: {run.name} trained on it; only rows that it did not train on are asked\n")
            return dataclasses.replace(found, held_out=known[0].held_out).name
    whole = dataclasses.replace(found, rows="test").name
    sys.stderr.write(f"{found.label}: all {len(rows_of(whole, 'test'))} rows\n")
    return whole


def _task_share(text: str) -> Share:
    """`NAME`, `NAME:LEVEL,LEVEL`, `NAME:LEVEL=WEIGHT`."""
    from assay.source import Share
    from assay.tasks import task

    mixed, _, weight = text.partition("=")
    name, levels = _split_task(mixed)
    known = task(name).levels
    try:
        chosen = tuple(int(level) for level in levels.split(",")) if levels else (known[0],)
        return Share(name, chosen, float(weight or 1))
    except ValueError:
        raise UsageError(f"--task {text}: write NAME, NAME:1,2 or NAME:1,2=0.5.") from None


def _split_task(text: str) -> tuple[str, str]:
    """`gym:NAME` has a colon of its own."""
    if text.startswith("gym:"):
        name, _, levels = text[4:].partition(":")
        return f"gym:{name}", levels
    name, _, levels = text.partition(":")
    return name, levels


def _refuse_lone_columns(arguments: argparse.Namespace) -> None:
    """What says how a file is read says nothing without a file."""
    flags = ("eval_data", "prompt_column", "answer_column", "system", "skip_bad_rows")
    if arguments.data is None and (lone := [flag for flag in flags if getattr(arguments, flag, None)]):
        raise UsageError(f"--{lone[0].replace('_', '-')} is about a file of rows: name it with --data.")


def run_check(arguments: argparse.Namespace) -> Any:
    from assay.lab.data_check import check_data, text

    found = check_data(
        arguments.file,
        held_out=arguments.eval_data,
        model=arguments.model,
        reward=arguments.reward,
        **said(arguments),
    )
    if not arguments.json:
        sys.stdout.write(text(found) + "\n")
    return found
