"""The verbs by name: what each is for, its arguments, and the function that does it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.cli.arguments import TRACK, Argument, one_of
from assay.cli.looking import run_compare, run_doctor, run_eval, run_list, run_report, run_sample, run_show
from assay.cli.new import VERB as NEW
from assay.cli.problems import CHECK, HELD_OUT, SYSTEM, TASKS, run_check
from assay.cli.training import run_base, run_demo, run_resume, run_train
from assay.cli.verify import REWARD, REWARD_TIMEOUT, VERIFY, run_verify
from assay.lab.explain import VERB as EXPLAIN
from assay.lab.export import VERB as EXPORT
from assay.recipe import PROFILES

Verb = tuple[str, list[Argument], Callable[[argparse.Namespace], Any]]
"""What a verb is for, its arguments, and the function that does it."""

QUIET: Argument = (("--quiet",), {"action": "store_true", "help": "no panel"})
SEED: Argument = (("--seed",), {"type": int, "default": 0, "help": "default 0"})
RUN: Argument = (("run",), {"type": Path, "metavar": "RUN", "help": "a run folder"})

VERBS: dict[str, Verb] = {
    "train": (
        "train a model with a recipe; any setting of it as --a.b.c VALUE (see `assay show RECIPE`)",
        [
            (("recipe",), {"metavar": "RECIPE", "help": "a name of `assay list recipes`"}),
            *TASKS,
            HELD_OUT,
            *REWARD,
            (("--model",), {"help": "a folder, a hub id, or a base (default: the base of the task)"}),
            (
                ("--profile",),
                one_of(
                    "profile", ("auto", *PROFILES), see="assay train --help", default="auto", help="scale; default auto"
                ),
            ),
            (("--steps",), {"type": int, "help": "default: the profile's"}),
            SEED,
            (("--run",), {"type": Path, "help": "run folder; default runs/RECIPE-TASK-N"}),
            TRACK,
            (
                ("--dry-run",),
                {"action": "store_true", "help": "print what the run will use and stop; --json has all of it"},
            ),
            QUIET,
        ],
        run_train,
    ),
    "resume": (
        "continue a run from its last checkpoint",
        [
            RUN,
            (("--steps",), {"type": int, "help": "extend the run; default: the steps it began with"}),
            (
                ("--trust-code",),
                {"action": "store_true", "help": "run the reward functions that RUN names, though they have changed"},
            ),
            REWARD_TIMEOUT,
            QUIET,
        ],
        run_resume,
    ),
    "sample": (
        "answers of a model to a prompt",
        [
            (("model",), {"metavar": "MODEL|RUN"}),
            (("prompt",), {"metavar": "PROMPT"}),
            (("--n",), {"type": int, "default": 1, "help": "answers; default 1"}),
            (("--max-new",), {"type": int, "help": "tokens; default 64, of a run its own limit"}),
            (("--top-p",), {"type": float, "default": 1.0, "help": "default 1.0"}),
            (("--temperature",), {"type": float, "default": 1.0, "help": "default 1.0; 0 is greedy"}),
            SYSTEM,
            SEED,
        ],
        run_sample,
    ),
    "eval": (
        "unbiased pass@k on held-out problems, with intervals",
        [
            (("model",), {"metavar": "MODEL|RUN"}),
            *TASKS,
            *REWARD,
            (("--problems",), {"type": int, "help": "default 256; of --data all rows"}),
            (("--n",), {"type": int, "default": 16, "help": "samples a problem; default 16"}),
            (("--k",), {"type": int, "nargs": "+", "action": "extend", "help": "default 1, 2, 4 ... n"}),
            (("--max-new",), {"type": int, "help": "tokens; default: the run's own limit, else what the task needs"}),
            (
                ("--temperature",),
                {"type": float, "help": "0 is greedy; default 1.0, of a run that of its exams"},
            ),
            SEED,
        ],
        run_eval,
    ),
    "data": ("look at a file of rows before anything is trained on it", CHECK, run_check),
    "compare": (
        "several runs in one table and one plot",
        [
            (("runs",), {"type": Path, "nargs": "+", "metavar": "RUN"}),
            (("--plot",), {"type": Path, "help": "write the curves to this file (png and svg); default: no plot"}),
        ],
        run_compare,
    ),
    "list": (
        "what there is, and what runs here of a paper: `assay list papers 2402.03300`",
        [
            (
                ("what",),
                one_of("list", ("recipes", "tasks", "bases", "parts", "gym", "papers"), see="assay list --help"),
            ),
            (("words",), {"nargs": "*", "metavar": "WORDS", "help": "of a paper: its arXiv id, title or name"}),
        ],
        run_list,
    ),
    "show": ("all of a recipe, task, base or part, or of paper:NAME", [(("name",), {"metavar": "NAME"})], run_show),
    "explain": EXPLAIN,
    "base": (
        "make a proxy base model from scratch (cached)",
        [
            (("action",), one_of("action", ("build",), see="assay base --help")),
            (("name",), {"metavar": "NAME", "help": "a name of `assay list bases`"}),
            (("--force",), {"action": "store_true", "help": "make it again"}),
            QUIET,
        ],
        run_base,
    ),
    "new": NEW,
    "export": EXPORT,
    "report": ("write the report of a run again", [RUN], run_report),
    "verify": ("how a mathematics answer is judged, and how well answers are judged", VERIFY, run_verify),
    "doctor": (
        "what this machine has, and what each missing piece would need",
        [(("--model",), {"help": "a folder or a base: also what training it would need; default none"})],
        run_doctor,
    ),
    "demo": (
        "train a small model that visibly learns; ends with a table and a report",
        [(("--run",), {"type": Path, "help": "run folder; default runs/demo-N"}), SEED, QUIET],
        run_demo,
    ),
}
