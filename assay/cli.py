"""The command line. One JSON document on standard output with `--json`, of an error too; everything for people goes to
standard error or, without `--json`, as plain tables to standard output. Heavy libraries are imported by the verb that
needs them.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from assay import __version__
from assay.arguments import TRACK, Argument, Parser, one_of, overrides, settings_help, strange, tracked
from assay.command_problems import CHECK, HELD_OUT, TASKS, pool_of, run_check
from assay.command_verify import REWARD, VERIFY, judge_of, run_verify
from assay.errors import AssayError, StorageError, UsageError, unknown
from assay.lab.explain import VERB as EXPLAIN
from assay.lab.export import VERB as EXPORT
from assay.plugins import load
from assay.recipe import PROFILES

INTERRUPTED = 130  # what a shell reports of a program that Ctrl-C ended


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in arguments
    try:
        load()
        known = parse(arguments)
        result = known.run_verb(known)
        if as_json:
            print_out(json.dumps(result, allow_nan=False))
    except SystemExit as done:  # --help and --version
        return int(done.code or 0)
    except AssayError as error:
        return refuse(error, as_json=as_json)
    except BrokenPipeError:
        # the reader of a pipe left; without this the interpreter complains when it flushes
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return report_failure("Interrupted", "stopped by Ctrl-C.", INTERRUPTED, as_json=as_json)
    except OSError as error:
        return refuse(StorageError(f"{error}. A run that was under way goes on with `assay resume`."), as_json=as_json)
    except Exception as error:  # the last border before a person: whatever else arrives here is a bug of ours
        message = (
            f"{type(error).__name__}: {error}. This is a fault of Assay, not of what you asked for. A run that was "
            "under way goes on with `assay resume`."
        )
        code = report_failure("Bug", message, AssayError.exit_code, as_json=as_json)
        sys.stderr.write(traceback.format_exc())
        return code
    return 0


def refuse(error: AssayError, *, as_json: bool) -> int:
    return report_failure(type(error).__name__, str(error), error.exit_code, as_json=as_json)


def report_failure(name: str, message: str, code: int, *, as_json: bool) -> int:
    """Says what went wrong, to a person and, if asked, to a program; returns the exit code."""
    if as_json:
        print_out(json.dumps({"error": name, "message": message, "code": code}))
    sys.stderr.write(f"{name}: {message}\n")
    return code


def print_out(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The arguments of a verb, the settings as `overrides` and the whole line as `command`."""
    rest, found = overrides(arguments)
    verb = next((item for item in rest if not item.startswith("-")), None)
    if verb is not None and verb not in VERBS:
        raise unknown("verb", verb, VERBS, "assay --help")
    known, others = build_parser().parse_known_args(rest)
    if verb is None:
        raise UsageError(f"say what to do: {', '.join(VERBS)}. `assay --help` explains them.")
    if others:
        raise strange(others[0], [flag for flags, _ in VERBS[verb][1] for flag in flags], verb)
    if found and verb != "train":
        raise UsageError(f"`assay {verb}` has no settings such as --{next(iter(found))}; `assay train` has.")
    known.overrides = found
    known.command = shlex.join(["assay", *arguments])
    return known


def build_parser() -> Parser:
    parser = Parser(
        prog="assay",
        description="Reinforcement learning with verifiable rewards: one engine and one laboratory.",
        epilog="Exit codes: 0 done, 2 wrong usage, 64 bad data, 69 endpoint away, 70 a bug of ours, 74 input or "
        "output, 75 stopped and resumable, 78 configuration.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"assay {__version__}")
    verbs = parser.add_subparsers(metavar="VERB")
    for name, (summary, arguments, run) in VERBS.items():
        verb = verbs.add_parser(
            name,
            help=summary,
            description=summary,
            epilog=settings_help() if name == "train" else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        for flags, options in arguments:
            verb.add_argument(*flags, **options)
        verb.add_argument("--json", action="store_true", help="one JSON document on standard output")
        verb.set_defaults(run_verb=run)
    return parser


def run_train(arguments: argparse.Namespace) -> Any:
    from assay import session
    from assay.bases import base_for
    from assay.configure import to_data
    from assay.lab.results import finished
    from assay.recipes import recipe
    from assay.tasks import short

    pool = pool_of(arguments)
    experiment, rules = session.plan(
        recipe(arguments.recipe),
        model=arguments.model or base_for(pool),
        pool=pool,
        profile=arguments.profile,
        seed=arguments.seed,
        steps=arguments.steps,
        overrides=tracked(arguments.track) | arguments.overrides,
        rewards=arguments.reward or (),
        right_from=arguments.right_from,
    )
    for rule in rules:
        session.say(f"  {experiment.profile}: {rule}")
    if arguments.dry_run:
        session.tell_memory(experiment)
        if not arguments.json:
            print_out(json.dumps(to_data(experiment), indent=1))
        return to_data(experiment)
    default = session.free_folder(Path("runs"), f"{arguments.recipe}-{short(pool.shares[0].task)}")
    path = session.start(experiment, arguments.run or default, command=arguments.command, quiet=arguments.quiet)
    return finished(path)


def run_resume(arguments: argparse.Namespace) -> Any:
    from assay import session
    from assay.lab.results import finished

    return finished(session.resume(arguments.run, steps=arguments.steps, quiet=arguments.quiet))


def run_report(arguments: argparse.Namespace) -> Any:
    from assay.lab.results import finished

    return finished(arguments.run)


def run_sample(arguments: argparse.Namespace) -> Any:
    from assay.lab.sample import sample

    found = sample(
        arguments.model,
        arguments.prompt,
        count=arguments.n,
        max_new=arguments.max_new,
        temperature=arguments.temperature,
        top_p=arguments.top_p,
        seed=arguments.seed,
    )
    if not arguments.json:
        for answer in found["answers"]:
            print_out(answer["text"] if arguments.n == 1 else f"{answer['logp']:9.3f}  {answer['text']}")
    return found


def run_eval(arguments: argparse.Namespace) -> Any:
    from assay.lab.results import eval_table
    from assay.lab.sample import examine

    with judge_of(arguments) as judge:
        found = examine(
            arguments.model,
            pool_of(arguments, exam_of=arguments.model),
            problems=arguments.problems,
            samples=arguments.n,
            ks=arguments.k,
            temperature=arguments.temperature,
            max_new=arguments.max_new,
            seed=arguments.seed,
            judge=judge,
        )
    if not arguments.json:
        print_out(eval_table(found))
    return found


def run_compare(arguments: argparse.Namespace) -> Any:
    from assay.lab.compare import as_json, compare_runs, plot, show

    comparison = compare_runs(arguments.runs)
    if arguments.plot:
        for path in plot(comparison, arguments.plot):
            sys.stderr.write(f"plot  {path}\n")
    if not arguments.json:
        show(comparison)
    return as_json(comparison)


def run_list(arguments: argparse.Namespace) -> Any:
    from assay.lab.catalogue import listing

    rows = listing(arguments.what)
    if not arguments.json:
        width = max((len(row["name"]) for row in rows), default=0)
        for row in rows:
            print_out(f"{row['name']:<{width}}  {row['summary']}")
    return rows


def run_show(arguments: argparse.Namespace) -> Any:
    from assay.lab.catalogue import card, card_text

    found = card(arguments.name)
    if not arguments.json:
        print_out(card_text(found))
    return found


def run_base(arguments: argparse.Namespace) -> Any:
    from assay.bases import base, build, describe

    path = build(arguments.name, quiet=arguments.quiet, force=arguments.force)
    if not arguments.json:
        print_out(str(path))
    return describe(base(arguments.name))


def run_doctor(arguments: argparse.Namespace) -> Any:
    from assay.lab.doctor import examination, text

    found = examination(arguments.model)
    if not arguments.json:
        print_out(text(found))
    return found


def run_demo(arguments: argparse.Namespace) -> Any:
    from assay.lab.demo import demo

    return demo(arguments.run, seed=arguments.seed, quiet=arguments.quiet, command=arguments.command)


QUIET: Argument = (("--quiet",), {"action": "store_true", "help": "no panel"})
SEED: Argument = (("--seed",), {"type": int, "default": 0, "help": "default 0"})
RUN: Argument = (("run",), {"type": Path, "metavar": "RUN", "help": "a run folder"})
SAMPLER: list[Argument] = [
    (("--temperature",), {"type": float, "default": 1.0, "help": "default 1.0; 0 is greedy"}),
    SEED,
]

VERBS: dict[str, tuple[str, list[Argument], Callable[[argparse.Namespace], Any]]] = {
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
            (("--dry-run",), {"action": "store_true", "help": "print the resolved run and stop"}),
            QUIET,
        ],
        run_train,
    ),
    "resume": (
        "continue a run from its last checkpoint",
        [RUN, (("--steps",), {"type": int, "help": "extend the run; default: the steps it began with"}), QUIET],
        run_resume,
    ),
    "sample": (
        "answers of a model to a prompt",
        [
            (("model",), {"metavar": "MODEL|RUN"}),
            (("prompt",), {"metavar": "PROMPT"}),
            (("--n",), {"type": int, "default": 1, "help": "answers; default 1"}),
            (("--max-new",), {"type": int, "default": 64, "help": "tokens; default 64"}),
            (("--top-p",), {"type": float, "default": 1.0, "help": "default 1.0"}),
            *SAMPLER,
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
            (("--k",), {"type": int, "nargs": "+", "help": "default 1, 2, 4 ... n"}),
            (("--max-new",), {"type": int, "help": "tokens; default: what the task needs"}),
            *SAMPLER,
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
        "what there is",
        [(("what",), one_of("list", ("recipes", "tasks", "bases", "parts", "gym"), see="assay list --help"))],
        run_list,
    ),
    "show": ("all of a recipe, task, base or part", [(("name",), {"metavar": "NAME"})], run_show),
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
