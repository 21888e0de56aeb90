"""The arguments with which a command names its problems (generated tasks, data files), and `assay data check`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from assay.cli.arguments import Argument, one_of
from assay.cli.verify import REWARD_TIMEOUT, timeout_of
from assay.errors import UsageError
from assay.host import terminal
from assay.verifiers.answers import Wording

if TYPE_CHECKING:
    from assay.lab.asking import Asking

READ = ("prompt_column", "answer_column", "answer_from_messages", "skip_bad_rows")  # how data files are read

COLUMNS: list[Argument] = [
    (
        ("--prompt-column",),
        {
            "default": "",
            "metavar": "NAME",
            "help": "the column of the prompt; default: the first of prompt, messages, question and problem",
        },
    ),
    (
        ("--answer-column",),
        {
            "default": "",
            "metavar": "NAME",
            "help": "the column of the answer; default: the first of the columns that docs/data.md lists",
        },
    ),
    (
        ("--answer-from-messages",),
        {
            "action": "store_true",
            "help": "find the answer in the last message of each conversation, which the assistant wrote",
        },
    ),
    (
        ("--skip-bad-rows",),
        {
            "action": "store_true",
            "help": "leave out rows that cannot be read or are too long, instead of refusing the file",
        },
    ),
]
SYSTEM: Argument = (
    ("--system",),
    {
        "metavar": "TEXT",
        "help": "a system message for prompts that have none; short for --chat.system; default: the run's, or none",
    },
)
HELD_OUT: Argument = (
    ("--eval-data",),
    {
        "action": "append",
        "metavar": "FILE",
        "help": "a file of held-out rows, so that all rows of --data are trained on; repeat for several files; "
        "default: a fifth of --data is held out",
    },
)
TASKS: list[Argument] = [
    (
        ("--task",),
        {
            "action": "append",
            "metavar": "NAME[:LEVELS][=WEIGHT]",
            "help": "a task of `assay list tasks`; repeat for a mixture; default: of a recipe the first of its tasks, "
            "of a run its tasks, else countdown:3,4",
        },
    ),
    (
        ("--wording",),
        one_of(
            "wording",
            get_args(Wording),
            see="assay train --help",
            help="compact for small models trained from scratch, natural for pretrained models; "
            "default: that of the run to evaluate, else natural with --data and for models that others trained",
        ),
    ),
    (
        ("--data",),
        {
            "action": "append",
            "metavar": "FILE|HUB",
            "help": "your own problems: a .jsonl, .json, .csv, .tsv or .parquet file, or owner/name:split of the Hub; "
            "repeat for several files, which form one set; default: generated tasks only",
        },
    ),
    SYSTEM,
    *COLUMNS,
]
CURATE: list[Argument] = [
    (
        ("--embedder",),
        {
            "metavar": "FOLDER|HUB",
            "help": "curate: the sentence-embedding model that finds held-out rows; default: none",
        },
    ),
    (
        ("--judge",),
        {
            "action": "store_true",
            "help": "curate: a judge (ASSAY_JUDGE_URL, ASSAY_JUDGE_MODEL) decides whether two problems are the same",
        },
    ),
    (("--alike",), {"type": float, "help": "curate: without a judge, the cosine from which they are; default 0.9"}),
    (("--difficulty",), {"type": float, "help": "curate: the least of the column 'difficulty'; default: any"}),
]
CHECK: list[Argument] = [
    (
        ("action",),
        one_of(
            "action",
            ("check", "tests", "curate"),
            see="assay data --help",
            help="check: look at the rows; tests: write rows with tests made of generators and solutions; curate: "
            "write the rows that are not held out in other words and have answers that all solutions agree on",
        ),
    ),
    (("files",), {"nargs": "+", "metavar": "FILE|HUB", "help": "the files to read; several files form one set"}),
    (
        ("--into",),
        {"type": Path, "metavar": "FILE", "help": "the new file that `tests` and `curate` write; no default"},
    ),
    *CURATE,
    (("--model",), {"help": "measure prompts in the tokens of this model; default: in characters"}),
    (
        ("--recipe",),
        {"metavar": "NAME", "help": "say which rows this recipe can reward, as train would; default: any recipe"},
    ),
    HELD_OUT,
    SYSTEM,
    *COLUMNS,
    (
        ("--reward",),
        {
            "metavar": "FILE.py:FUNCTION",
            "help": "a reward function to try on the right answers of the rows; default: none",
        },
    ),
    REWARD_TIMEOUT,
]


def asked_in(arguments: argparse.Namespace, model: str | None = None) -> Asking:
    """What `assay eval` and its like ask of a model, who judges, and what the command allows a run folder to reach."""
    from assay.cli.setups import setup_of
    from assay.lab.asking import Asking
    from assay.run.trust import Trust

    setup, allowed = setup_of(arguments, without=("model", "seed"), **({} if model is None else {"model": model}))
    allowed(setup)
    whole = arguments.data is not None or not setup.data
    return Asking(setup, Trust.of(code=arguments.trust_code, addresses=arguments.trust_addresses), whole)


def reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """The arguments that say how data files are read."""
    return {name: getattr(arguments, name) for name in READ}


def run_data(arguments: argparse.Namespace) -> Any:
    """Runs `assay data ACTION`."""
    _refuse_of_other_actions(arguments)
    if arguments.action == "check":
        return run_check(arguments)
    if not arguments.into:
        raise UsageError(f"assay data {arguments.action} writes a new file: name it with --into FILE.jsonl.")
    if arguments.action == "tests":
        from assay.lab.data_tests import make_tests, text

        counts = make_tests(arguments.files, arguments.into)
    else:
        from assay.lab.data_curate import Rules, curate, text

        limits = {n: value for n in ("alike", "difficulty") if (value := getattr(arguments, n)) is not None}
        rules = Rules(tuple(arguments.eval_data or ()), arguments.embedder or "", arguments.judge, **limits)
        counts = curate(arguments.files, arguments.into, rules, **reading(arguments))
    if not arguments.json:
        terminal.show(text(counts))
    return counts


def _refuse_of_other_actions(arguments: argparse.Namespace) -> None:
    """Refuses options that the action would not read."""
    actions = {
        "into": ("tests", "curate"),
        **dict.fromkeys(("embedder", "judge", "alike", "difficulty"), ("curate",)),
        **dict.fromkeys(("eval_data", *READ), ("check", "curate")),
        **dict.fromkeys(("model", "recipe", "reward", "system"), ("check",)),
    }
    for name, fitting in actions.items():
        if getattr(arguments, name) not in (None, False, "") and arguments.action not in fitting:
            listed, flag = " and ".join(f"`assay data {action}`" for action in fitting), name.replace("_", "-")
            raise UsageError(f"--{flag} is an option of {listed}, not of `assay data {arguments.action}`.")


def run_check(arguments: argparse.Namespace) -> Any:
    from assay.known import recipe
    from assay.lab.data_check import check_data, require_usable, text

    report = check_data(
        arguments.files,
        held_out=arguments.eval_data,
        system=arguments.system or "",
        model=arguments.model,
        recipe=recipe(arguments.recipe) if arguments.recipe else None,
        reward=arguments.reward,
        reward_timeout=timeout_of(arguments),
        **reading(arguments),
    )
    if not arguments.json:
        terminal.show(text(report))
    require_usable(report, skips=bool(arguments.skip_bad_rows))
    return report
