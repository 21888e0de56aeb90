"""Reading a command line: settings apart from arguments, names with suggestions, wrong usage as errors of ours."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from typing import Any, NoReturn

from assay.configure import settings
from assay.errors import UsageError, unknown
from assay.experiment import Evaluation, Machine, Saving, Tracking
from assay.policy.conversation import Chat
from assay.policy.lora import Lora
from assay.record.sinks import SINKS

SHORT = {"--lora": "lora.rank"}  # settings that are written without their field

Argument = tuple[tuple[str, ...], dict[str, Any]]
"""Flags of an argument, and what argparse is told of it."""


def overrides(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """What is left without the settings `--a.b value` and `--a.b=value`, and those as {path: text}."""
    rest: list[str] = []
    found: dict[str, str] = {}
    items = iter(arguments)
    for item in items:
        if item == "--":
            rest += [item, *items]
            break
        name, equals, value = item.partition("=")
        if name in SHORT:
            name = f"--{SHORT[name]}"
        if not name.startswith("--") or "." not in name:
            rest.append(item)
            continue
        if not equals:
            value = next(items, "--")
            if value.startswith("--"):
                raise UsageError(f"{name} wants a value: {name} VALUE.")
        found[name[2:]] = value
    return rest, found


TRACK: tuple[tuple[str, ...], dict[str, Any]] = (
    ("--track",),
    {
        "nargs": "+",
        "metavar": "SINK",
        "help": f"also tell of the run there, any or all of: {', '.join(SINKS)}; default none",
    },
)


def tracked(names: Sequence[str] | None) -> dict[str, str]:
    """The setting that `--track` is short for."""
    for name in names or ():
        if name not in SINKS:
            raise unknown("sink", name, SINKS, "assay train --help")
    return {"tracking.sinks": ",".join(names)} if names else {}


class Parser(argparse.ArgumentParser):
    """Wrong usage has the form and the exit code of every other error."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. `{self.prog} --help` shows what there is.")


def settings_help() -> str:
    groups = {"evaluation": Evaluation(), "machine": Machine(), "saving": Saving()}
    groups |= {"tracking": Tracking(), "lora": Lora(), "chat": Chat()}
    rows = [row for prefix, record in groups.items() for row in settings(record, prefix)]
    lines = [f"  --{path.replace('_', '-'):<30} {kind}, default {_shown(value)}" for path, kind, value in rows]
    return "\n".join(["settings (those of a recipe, --scale.* and --mechanism.*: `assay show RECIPE`):", *lines])


def _shown(value: Any) -> str:
    return str(value) if value not in ("", ()) else "none"


def one_of(kind: str, names: Sequence[str], *, see: str, **options: Any) -> dict[str, Any]:
    """Options of an argument that takes one of these names; the error offers the nearest."""

    def known(text: str) -> str:
        if text not in names:
            raise unknown(kind, text, names, see)
        return text

    return {"type": known, "metavar": f"{{{','.join(names)}}}", **options}


def strange(argument: str, flags: Sequence[str], verb: str) -> UsageError:
    """The error for an argument that a verb does not know."""
    near = difflib.get_close_matches(argument, flags, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return UsageError(f"unknown argument '{argument}'.{hint} `assay {verb} --help` shows what there is.")
