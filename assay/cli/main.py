"""The command line. One JSON document on standard output with `--json`, of an error too; everything for people goes to
standard error or, without `--json`, as plain tables to standard output. Heavy libraries are imported by the verb that
needs them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from assay import __version__
from assay.cli.arguments import (
    TRACK,
    Argument,
    Parser,
    Told,
    one_of,
    overrides,
    refuse_theirs,
    settings_help,
    strange,
    tracked,
)
from assay.cli.problems import CHECK, HELD_OUT, SYSTEM, TASKS, exam_of, pool_of, run_check
from assay.cli.verify import REWARD, REWARD_TIMEOUT, VERIFY, judge_of, run_verify, timeout_of
from assay.errors import AssayError, ConfigError, StorageError, UsageError, unknown
from assay.host import terminal
from assay.known import others
from assay.lab.explain import VERB as EXPLAIN
from assay.lab.export import VERB as EXPORT
from assay.lab.new import VERB as NEW
from assay.recipe import PROFILES

INTERRUPTED = 130  # what a shell reports of a program that Ctrl-C ended


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in arguments
    try:
        terminal.guard()
        with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
            for offer in others():
                if offer.problem:
                    terminal.say(f"warning: {offer.problem}")
            known = parse(arguments)
            result = known.run_verb(known)
        if as_json:
            terminal.show(json.dumps(result, allow_nan=False))
    except Told:
        return 0
    except SystemExit as done:  # of a plugin, say: nobody but this function decides when a command is over
        return report_failure("Ended", where_ended(done), AssayError.exit_code, as_json=as_json)
    except AssayError as error:
        return refuse(error, as_json=as_json)
    except BrokenPipeError:
        # the reader of a pipe left; without this the interpreter complains when it flushes
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return report_failure("Interrupted", "stopped by Ctrl-C.", INTERRUPTED, as_json=as_json)
    except MemoryError as error:
        told = f"there was not enough memory ({str(error) or 'a limit'}): ask for less, or take a larger machine"
        return refuse(ConfigError(f"{told}. A run that was under way goes on with `assay resume`."), as_json=as_json)
    except OSError as error:
        return refuse(StorageError(f"{error}. A run that was under way goes on with `assay resume`."), as_json=as_json)
    except Exception as error:  # the last border before a person: whatever else arrives here is a bug of ours
        message = (
            f"{type(error).__name__}: {error}. This is a fault of Assay, not of what you asked for. A run that was "
            "under way goes on with `assay resume`."
        )
        code = report_failure("Bug", message, AssayError.exit_code, as_json=as_json)
        terminal.tell(traceback.format_exc())
        return code
    return 0


def where_ended(done: SystemExit) -> str:
    place = traceback.extract_tb(done.__traceback__)[-1]
    return (
        f"{place.filename}, line {place.lineno} raised SystemExit({done.code!r}) in the middle of the command, which "
        "is not done. A run that was under way goes on with `assay resume`."
    )


def refuse(error: AssayError, *, as_json: bool) -> int:
    return report_failure(type(error).__name__, str(error), error.exit_code, as_json=as_json)


def report_failure(name: str, message: str, code: int, *, as_json: bool) -> int:
    """Says what went wrong, to a person and, if asked, to a program; returns the exit code."""
    if as_json:
        terminal.show(json.dumps({"error": name, "message": message, "code": code}))
    terminal.say(f"{name}: {message}")
    return code


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The arguments of a verb, the settings as `overrides` and the whole line as `command`."""
    rest, found = overrides(arguments)
    verb = next((item for item in rest if not item.startswith("-")), None)
    if verb is not None and verb not in VERBS:
        raise unknown("verb", verb, VERBS, "assay --help")
    if verb == "train":
        refuse_theirs(rest)
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
    from assay.known import recipe
    from assay.lab import dry_run
    from assay.record.folder import Numbered
    from assay.run import session
    from assay.run.bases import base_for
    from assay.tasks import short
    from assay.view.results import finished

    pool = pool_of(arguments)
    experiment, rules = session.plan(
        recipe(arguments.recipe),
        model=arguments.model or base_for(pool),
        pool=pool,
        profile=arguments.profile,
        seed=arguments.seed,
        steps=arguments.steps,
        overrides=tracked(arguments.track, arguments.overrides),
        system=arguments.system or None,
        rewards=arguments.reward or (),
        right_from=arguments.right_from,
        reward_timeout=timeout_of(arguments),
    )
    default = Numbered(Path("runs"), f"{experiment.recipe.name}-{short(pool.shares[0].task)}")
    if arguments.dry_run:
        plan = dry_run.planned(experiment, rules)
        if not arguments.json:
            terminal.show(dry_run.text(plan, run=str(arguments.run or f"{default.root / default.name}-N")))
        return dry_run.document(plan)
    for rule in rules:
        session.say(f"  {experiment.profile}: {rule}")
    path = session.start(experiment, arguments.run or default, command=arguments.command, quiet=arguments.quiet)
    return finished(path)


def run_resume(arguments: argparse.Namespace) -> Any:
    from assay.run import session
    from assay.view.results import finished

    said = {"reward_timeout": arguments.reward_timeout, "trust_code": arguments.trust_code}
    return finished(session.resume(arguments.run, steps=arguments.steps, quiet=arguments.quiet, **said))


def run_report(arguments: argparse.Namespace) -> Any:
    from assay.view.results import finished

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
        system=arguments.system,
    )
    if not arguments.json:
        for answer in found["answers"]:
            terminal.hand_over(answer["text"] if arguments.n == 1 else f"{answer['logp']:9.3f}  {answer['text']}")
    return found


def run_eval(arguments: argparse.Namespace) -> Any:
    from assay.lab.sample import examine
    from assay.view.results import eval_table

    with judge_of(arguments) as judge:
        found = examine(
            arguments.model,
            exam_of(arguments),
            problems=arguments.problems,
            samples=arguments.n,
            ks=arguments.k,
            temperature=arguments.temperature,
            max_new=arguments.max_new,
            seed=arguments.seed,
            system=arguments.system,
            judge=judge,
        )
    if not arguments.json:
        terminal.show(eval_table(found))
    return found


def run_compare(arguments: argparse.Namespace) -> Any:
    from assay.lab.compare import as_json, compare_runs, plot, show

    comparison = compare_runs(arguments.runs)
    if arguments.plot:
        for path in plot(comparison, arguments.plot):
            terminal.say(f"plot  {path}")
    if not arguments.json:
        show(comparison)
    return as_json(comparison)


def run_list(arguments: argparse.Namespace) -> Any:
    from assay.lab.catalogue import listing, listing_text

    rows = listing(arguments.what, " ".join(arguments.words))
    if not arguments.json:
        terminal.show(listing_text(rows))
    return rows


def run_show(arguments: argparse.Namespace) -> Any:
    from assay.lab.catalogue import card, card_text

    found = card(arguments.name)
    if not arguments.json:
        terminal.show(card_text(found))
    return found


def run_base(arguments: argparse.Namespace) -> Any:
    from assay.run.bases import base, build, describe

    path = build(arguments.name, quiet=arguments.quiet, force=arguments.force)
    if not arguments.json:
        terminal.show(str(path))
    return describe(base(arguments.name))


def run_doctor(arguments: argparse.Namespace) -> Any:
    from assay.lab.doctor import examination, text

    found = examination(arguments.model)
    if not arguments.json:
        terminal.show(text(found))
    return found


def run_demo(arguments: argparse.Namespace) -> Any:
    from assay.lab.demo import demo

    return demo(arguments.run, seed=arguments.seed, quiet=arguments.quiet, command=arguments.command)


QUIET: Argument = (("--quiet",), {"action": "store_true", "help": "no panel"})
SEED: Argument = (("--seed",), {"type": int, "default": 0, "help": "default 0"})
RUN: Argument = (("run",), {"type": Path, "metavar": "RUN", "help": "a run folder"})

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
