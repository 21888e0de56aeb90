"""The command line. One JSON document on standard output with `--json`, of an error too; everything for people goes to
standard error or, without `--json`, as plain tables to standard output.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
import traceback
from collections.abc import Sequence

from assay import __version__, terminal
from assay.arguments import Parser, Told, overrides, refuse_theirs, settings_help, strange
from assay.errors import AssayError, ConfigError, StorageError, UsageError, unknown
from assay.verbs import VERBS

INTERRUPTED = 130  # what a shell reports of a program that Ctrl-C ended


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in arguments
    try:
        terminal.guard()
        with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
            known = parse(arguments)
            tell_broken()
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


def tell_broken() -> None:
    """Warns of what other packages offer and cannot be used; whatever a verb does begins with what they offer."""
    from assay.plugins import broken

    for offer in broken():
        terminal.say(f"warning: {offer.problem}")


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
    known, others = build_parser(verb).parse_known_args(rest)
    if verb is None:
        raise UsageError(f"say what to do: {', '.join(VERBS)}. `assay --help` explains them.")
    if others:
        raise strange(others[0], [flag for flags, _ in VERBS[verb][1]() for flag in flags], verb)
    if found and verb != "train":
        raise UsageError(f"`assay {verb}` has no settings such as --{next(iter(found))}; `assay train` has.")
    known.overrides = found
    known.command = shlex.join(["assay", *arguments])
    return known


def build_parser(asked: str | None = None) -> Parser:
    """Of all verbs the names, and of the one that is asked for its arguments."""
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
            epilog=settings_help() if name == asked == "train" else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        for flags, options in arguments() if name == asked else ():
            verb.add_argument(*flags, **options)
        verb.add_argument("--json", action="store_true", help="one JSON document on standard output")
        verb.set_defaults(run_verb=run)
    return parser
