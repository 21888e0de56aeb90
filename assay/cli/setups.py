"""The setup that a command line describes, with the files that it names."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.arguments import TRUST_ADDRESSES, Argument
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.run.file_trust import Asked
    from assay.run.setup import Setup

FILE: Argument = (
    ("--config",),
    {
        "action": "append",
        "type": Path,
        "metavar": "FILE",
        "help": "a file with options as keys and settings as tables (`assay show RECIPE --toml`), or one for TRL, "
        "verl, OpenRLHF or prime-rl (`assay show FILE`); repeat for several, of which later ones override, as "
        "options do; default: none",
    },
)
CONFIG: list[Argument] = [
    FILE,
    (
        ("--trust-code",),
        {"action": "store_true", "help": "run the reward functions and programs that a --config names"},
    ),
    (
        ("--trust-addresses",),
        {"action": "store_true", "help": "connect to the servers, judges and trackers that a --config names"},
    ),
]
OF_EXAMS: list[Argument] = [
    FILE,
    (("--trust-code",), {"action": "store_true", "help": "run the reward functions that a --config names"}),
    TRUST_ADDRESSES,
]
"""For verbs that ask a model: a file describes a run, of which they read model, problems, rewards and sampling."""


def setup_of(
    arguments: argparse.Namespace, *, without: Collection[str] = (), **more: Any
) -> tuple[Setup, Callable[[Asked], None]]:
    """(the setup; a function that refuses code and addresses that a file names and nobody has allowed). `without` are
    options that mean something else in this verb, and `more` are fields that it gives in their place.
    """
    from assay.run import file_trust
    from assay.run.setup import FIELDS
    from assay.run.trust import Trust

    typed = {name: value for name, value in arguments.typed.items() if name in FIELDS and name not in without}
    flags: dict[str, Any] = {name: _plain(value) for name, value in typed.items()} | more
    if flags.get("reward") and flags.get("only_reward"):
        raise UsageError("--reward stands beside the recipe's other rewards, and --only-reward alone: leave one out.")
    flags["settings"] = arguments.overrides
    code, addresses = (getattr(arguments, f"trust_{name}", False) for name in ("code", "addresses"))
    trust = Trust.of(code=code, addresses=addresses)
    return file_trust.composed_with(arguments.config or (), flags, trust)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
