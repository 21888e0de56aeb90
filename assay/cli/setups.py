"""The setup that a command line describes, with the files that it names."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.arguments import Argument
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.run.experiment import Experiment
    from assay.run.setup import Setup

CONFIG: list[Argument] = [
    (
        ("--config",),
        {
            "action": "append",
            "type": Path,
            "metavar": "FILE",
            "help": "a file with options as keys and settings as tables (`assay show RECIPE --toml`), or one for TRL, "
            "verl, OpenRLHF or prime-rl (`assay show FILE`); repeat for several, of which later ones override, as "
            "options do; default: none",
        },
    ),
    (
        ("--trust-code",),
        {"action": "store_true", "help": "run the reward functions and programs that a --config names"},
    ),
    (
        ("--trust-addresses",),
        {"action": "store_true", "help": "connect to the servers, judges and trackers that a --config names"},
    ),
]


def setup_of(arguments: argparse.Namespace) -> tuple[Setup, Callable[[Experiment], None]]:
    """(the setup; a function that refuses code and addresses that a file names and nobody has allowed)."""
    from assay.run import file_trust
    from assay.run.setup import FIELDS
    from assay.run.trust import Trust

    flags: dict[str, Any] = {name: _plain(value) for name, value in arguments.typed.items() if name in FIELDS}
    if flags.get("reward") and flags.get("only_reward"):
        raise UsageError("--reward stands beside the recipe's other rewards, and --only-reward alone: leave one out.")
    flags["settings"] = arguments.overrides
    trust = Trust.of(code=arguments.trust_code, addresses=arguments.trust_addresses)
    return file_trust.composed_with(arguments.config or (), flags, trust)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
