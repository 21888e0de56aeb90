"""The verbs by name: what each is for, its arguments, and the function that does it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.cli.arguments import Argument, one_of, track
from assay.cli.looking import (
    run_compare,
    run_data,
    run_doctor,
    run_eval,
    run_explain,
    run_export,
    run_list,
    run_new,
    run_report,
    run_sample,
    run_show,
    run_verify,
)
from assay.cli.training import run_base, run_demo, run_resume, run_train

QUIET: Argument = (("--quiet",), {"action": "store_true", "help": "no panel"})
SEED: Argument = (("--seed",), {"type": int, "default": 0, "help": "default 0"})
RUN: Argument = (("run",), {"type": Path, "metavar": "RUN", "help": "a run folder"})
MODEL: Argument = (("model",), {"metavar": "MODEL|RUN"})


def of_train() -> list[Argument]:
    from assay.cli.problems import HELD_OUT, TASKS
    from assay.cli.verify import REWARD
    from assay.recipe import PROFILES

    profiles = ("auto", *PROFILES)
    return [
        (("recipe",), {"metavar": "RECIPE", "help": "a name of `assay list recipes`"}),
        *TASKS,
        HELD_OUT,
        *REWARD,
        (("--model",), {"help": "a folder, a hub id, or a base (default: the base of the task)"}),
        (
            ("--profile",),
            one_of("profile", profiles, see="assay train --help", default="auto", help="scale; default auto"),
        ),
        (("--steps",), {"type": int, "help": "default: the profile's"}),
        SEED,
        (("--run",), {"type": Path, "help": "run folder; default runs/RECIPE-TASK-N"}),
        track(),
        (
            ("--dry-run",),
            {"action": "store_true", "help": "print what the run will use and stop; --json has all of it"},
        ),
        QUIET,
    ]


def of_resume() -> list[Argument]:
    from assay.cli.verify import REWARD_TIMEOUT

    return [
        RUN,
        (("--steps",), {"type": int, "help": "extend the run; default: the steps it began with"}),
        (
            ("--trust-code",),
            {"action": "store_true", "help": "run the reward functions that RUN names, though they have changed"},
        ),
        REWARD_TIMEOUT,
        QUIET,
    ]


def of_sample() -> list[Argument]:
    from assay.cli.problems import SYSTEM

    return [
        MODEL,
        (("prompt",), {"metavar": "PROMPT"}),
        (("--n",), {"type": int, "default": 1, "help": "answers; default 1"}),
        (("--max-new",), {"type": int, "help": "tokens; default 64, of a run its own limit"}),
        (("--top-p",), {"type": float, "default": 1.0, "help": "default 1.0"}),
        (("--temperature",), {"type": float, "default": 1.0, "help": "default 1.0; 0 is greedy"}),
        SYSTEM,
        SEED,
    ]


def of_eval() -> list[Argument]:
    from assay.cli.problems import TASKS
    from assay.cli.verify import REWARD

    return [
        MODEL,
        *TASKS,
        *REWARD,
        (("--problems",), {"type": int, "help": "default 256; of --data all rows"}),
        (("--n",), {"type": int, "default": 16, "help": "samples a problem; default 16"}),
        (("--k",), {"type": int, "nargs": "+", "action": "extend", "help": "default 1, 2, 4 ... n"}),
        (("--max-new",), {"type": int, "help": "tokens; default: the run's own limit, else what the task needs"}),
        (("--temperature",), {"type": float, "help": "0 is greedy; default 1.0, of a run that of its exams"}),
        SEED,
    ]


def of_data() -> list[Argument]:
    from assay.cli.problems import CHECK

    return CHECK


def of_compare() -> list[Argument]:
    return [
        (("runs",), {"type": Path, "nargs": "+", "metavar": "RUN"}),
        (("--plot",), {"type": Path, "help": "write the curves to this file (png and svg); default: no plot"}),
    ]


def of_list() -> list[Argument]:
    return [
        (("what",), one_of("list", ("recipes", "tasks", "bases", "parts", "gym", "papers"), see="assay list --help")),
        (("words",), {"nargs": "*", "metavar": "WORDS", "help": "of a paper: its arXiv id, title or name"}),
    ]


def of_show() -> list[Argument]:
    return [(("name",), {"metavar": "NAME"})]


def of_explain() -> list[Argument]:
    return [(("recipe",), {"metavar": "RECIPE", "help": "a name of `assay list recipes`"})]


def of_new() -> list[Argument]:
    from assay.cli.new import ARGUMENTS

    return ARGUMENTS


def of_base() -> list[Argument]:
    return [
        (("action",), one_of("action", ("build",), see="assay base --help")),
        (("name",), {"metavar": "NAME", "help": "a name of `assay list bases`"}),
        (("--force",), {"action": "store_true", "help": "make it again"}),
        QUIET,
    ]


def of_export() -> list[Argument]:
    return [
        MODEL,
        (("folder",), {"type": Path, "metavar": "FOLDER", "help": "new or empty"}),
        (("--merge",), {"action": "store_true", "help": "an adapter becomes one model with its base"}),
    ]


def of_report() -> list[Argument]:
    return [RUN]


def of_verify() -> list[Argument]:
    from assay.cli.verify import VERIFY

    return VERIFY


def of_doctor() -> list[Argument]:
    asked = "the foreign programs that verify answers: are they there, and do they judge as they should?"
    return [
        (("--model",), {"help": "a folder or a base: also what training it would need; default none"}),
        (("--externals",), {"action": "store_true", "help": asked}),
    ]


def of_demo() -> list[Argument]:
    return [(("--run",), {"type": Path, "help": "run folder; default runs/demo-N"}), SEED, QUIET]


Verb = tuple[str, Callable[[], list[Argument]], Callable[[argparse.Namespace], Any]]
"""What a verb is for, its arguments, which are made when it is asked for, and the function that does it."""

VERBS: dict[str, Verb] = {
    "train": (
        "train a model with a recipe; any setting of it as --a.b.c VALUE (see `assay show RECIPE`)",
        of_train,
        run_train,
    ),
    "resume": ("continue a run from its last checkpoint", of_resume, run_resume),
    "sample": ("answers of a model to a prompt", of_sample, run_sample),
    "eval": ("unbiased pass@k on held-out problems, with intervals", of_eval, run_eval),
    "data": ("look at a file of rows before anything is trained on it", of_data, run_data),
    "compare": ("several runs in one table and one plot", of_compare, run_compare),
    "list": (
        "what there is, and what runs here of a paper: `assay list papers 2402.03300`",
        of_list,
        run_list,
    ),
    "show": ("all of a recipe, task, base or part, or of paper:NAME", of_show, run_show),
    "explain": (
        "the formula of a recipe: its factors, what differs from GRPO, and where other implementations deviate",
        of_explain,
        run_explain,
    ),
    "base": ("make a proxy base model from scratch (cached)", of_base, run_base),
    "new": ("a method, task or reward that trains and tests itself, to be filled in", of_new, run_new),
    "export": ("write a trained model, or its adapter, as a folder that others load", of_export, run_export),
    "report": ("write the report of a run again", of_report, run_report),
    "verify": ("how an answer is judged, and how well a verifier judges", of_verify, run_verify),
    "doctor": ("what this machine has, and what each missing piece would need", of_doctor, run_doctor),
    "demo": ("train a small model that visibly learns; ends with a table and a report", of_demo, run_demo),
}
