"""`assay new`: a method, a task, a world or a reward that trains and tests itself, to be filled in."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from assay.cli.arguments import Argument, one_of
from assay.host import terminal
from assay.known import GROUPS, SLOTS


def run_new(arguments: argparse.Namespace) -> Any:
    from assay.lab.new import new

    made = new(arguments.kind, arguments.name, arguments.dir, group=arguments.group, slot=arguments.slot)
    if not arguments.json:
        lines = [f"wrote {path}" for path in made.files]
        lines += [f"added {line} to {path}" for path, line in made.changed.items()]
        terminal.show(
            "\n".join([*lines, "", "It works as it is. Comments in its files say what to fill in. Then run:"])
        )
        terminal.show("\n".join(f"  {line}" for line in made.next))
    return {
        "kind": made.kind,
        "name": made.name,
        "files": [str(path) for path in made.files],
        "changed": [{"file": str(path), "line": line} for path, line in made.changed.items()],
        "fill_in": [str(path) for path in made.fill_in],
        "next": list(made.next),
    }


ARGUMENTS: list[Argument] = [
    (("kind",), one_of("kind", ("method", "task", "world", "reward"), see="assay new --help")),
    (("name",), {"metavar": "NAME", "help": "lower-case words joined by -; a name that is not taken"}),
    (
        ("--dir",),
        {
            "type": Path,
            "default": Path(),
            "help": "the folder to write into; default . (here). In a checkout of Assay a method goes to assay/methods",
        },
    ),
    (
        ("--slot",),
        {"help": f"of a method: which part of a recipe it brings, of {', '.join(SLOTS)}; default gate"},
    ),
    (
        ("--group",),
        {
            "help": "the group in the docs, for a method in a checkout: "
            f"{', '.join(GROUPS)}; default {next(iter(GROUPS))}"
        },
    ),
]
