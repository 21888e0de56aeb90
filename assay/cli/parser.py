"""From a command line to a verb and its arguments."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from assay import __version__
from assay.cli.arguments import OPTIONAL, Parser, overrides, refuse_theirs, settings_help, strange
from assay.cli.verbs import VERBS
from assay.errors import UsageError, unknown


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The arguments of the verb, with the settings in `overrides`, what was given and is no default in `typed`, and the
    whole command line in `command`.
    """
    if next((item for item in arguments if not item.startswith("-")), None) == "train":
        refuse_theirs(arguments)
    rest, settings = overrides(arguments)
    verb = next((item for item in rest if not item.startswith("-")), None)
    if verb is not None and verb not in VERBS:
        raise unknown("verb", verb, VERBS, "assay --help")
    parser = build_parser(verb)
    parsed, others = parser.parse_known_args(rest)
    if verb is None:
        raise UsageError(f"say what to do, with one of these verbs: {', '.join(VERBS)}. `assay --help` explains them.")
    if others:
        raise strange(others[0], [flag for flags, _ in VERBS[verb][1]() for flag in flags], verb)
    if settings and verb not in ("train", "resume", "compare", "sweep", "plan"):
        raise UsageError(
            f"`assay {verb}` takes no settings such as --{next(iter(settings))}; `assay train`, `assay compare` and "
            "`assay sweep` do."
        )
    parsed.typed = {name: value for name, value in vars(parsed).items() if name in parser.defaults}
    for name, value in parser.defaults.items():
        setattr(parsed, name, parsed.typed.get(name, value))
    parsed.overrides = settings
    parsed.command = shlex.join(["assay", *arguments])
    return parsed


def build_parser(asked: str | None = None) -> Parser:
    """A parser with the names of all verbs, and with the arguments of the verb `asked` alone, for a fast start-up. It
    leaves out what is not given; the defaults of the arguments are its `defaults`.
    """
    parser = Parser(
        prog="assay",
        description="Reinforcement learning with verifiable rewards: one engine and one laboratory.",
        epilog="`assay VERB --help` explains a verb. Exit codes: 0 done, 2 wrong usage, 64 bad data, 69 a "
        "service does not answer, 70 a bug in Assay, 74 reading or writing failed, 75 the run stopped and can be "
        "resumed, 78 wrong configuration.",
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
            action = verb.add_argument(*flags, **{name: value for name, value in options.items() if name != OPTIONAL})
            action.required = action.required and OPTIONAL not in options
            several = action.nargs == argparse.ZERO_OR_MORE and not action.option_strings
            parser.defaults[action.dest] = [] if several else action.default
            action.default = argparse.SUPPRESS
        verb.add_argument(
            "--json",
            action="store_true",
            help="write one JSON document to standard output, and everything else to standard error",
        )
        verb.set_defaults(run_verb=run)
    return parser
