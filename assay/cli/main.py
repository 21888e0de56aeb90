"""The command line. One JSON document on standard output with `--json`, of an error too; everything for people goes to
standard error or, without `--json`, as plain tables to standard output. A verb that gives an iterator has a document
for each of its items, as soon as it is there.
"""

from __future__ import annotations

import contextlib
import json
import sys
import traceback
from collections.abc import Iterator, Sequence

from assay.cli.arguments import Told
from assay.cli.parser import parse
from assay.errors import AssayError, ConfigError, StorageError
from assay.host import terminal

INTERRUPTED = 130  # the exit code that a shell reports for a program that Ctrl-C ended


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in arguments
    try:
        terminal.guard()
        out = sys.stdout
        with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
            parsed = parse(arguments)
            tell_broken()
            result = parsed.run_verb(parsed)
            for document in result if isinstance(result, Iterator) else [result]:
                if as_json:
                    terminal.write(out, json.dumps(document, allow_nan=False) + "\n")
    except Told:
        return 0
    except SystemExit as done:  # of a plugin, say: nobody but this function decides when a command is over
        return report_failure("Ended", where_ended(done), AssayError.exit_code, as_json=as_json)
    except AssayError as error:
        return refuse(error, as_json=as_json)
    except BrokenPipeError:
        # the reader of a pipe left; without this the interpreter complains when it flushes
        terminal.silence(sys.stdout)
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
    """Warns of offers of other packages that cannot be used. It comes before every verb, because verbs build on these
    offers. Where no package offers anything, the registry of methods is not imported for that.
    """
    from assay.host.offers import installed

    if not installed():
        return
    from assay.known import others

    for offer in others():
        if offer.problem:
            terminal.say(f"warning: {offer.problem}")


def where_ended(done: SystemExit) -> str:
    """The place that ended the command. Trackers put a function `exit` of their own before that of Python."""
    places = traceback.extract_tb(done.__traceback__)
    place = next((one for one in reversed(places) if one.name != "exit"), places[-1])
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
