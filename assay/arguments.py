"""Reading a command line: settings apart from arguments, names with suggestions, wrong usage as errors of ours."""

from __future__ import annotations

import argparse
import difflib
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from assay import terminal
from assay.errors import UsageError, unknown

SINKS_OF_RUN = "tracking.sinks"
SHORT = {"--lora": "lora.rank"}  # settings that are written without their field

Argument = tuple[tuple[str, ...], dict[str, Any]]
"""Flags of an argument, and what argparse is told of it."""


def overrides(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """What is left without the settings `--a.b value` and `--a.b=value`, and those as {path: text}."""
    rest: list[str] = []
    found: dict[str, str] = {}
    names: dict[str, str] = {}  # by which each was said
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
        path, said = name[2:], item.partition("=")[0]
        if names.setdefault(path, said) != said:
            _require_alike(path, found[path], value)
        found[path] = value
    return rest, found


def track() -> Argument:
    """`--track`, with the names that it takes."""
    from assay.record.sinks import SINKS

    said = f"also tell of the run there, any or all of: {', '.join(SINKS)}; default none"
    return ("--track",), {"nargs": "+", "action": "extend", "metavar": "SINK", "help": said}


def tracked(names: Sequence[str] | None, found: Mapping[str, str]) -> dict[str, str]:
    """The settings with the one that `--track` is short for."""
    from assay.record.sinks import SINKS

    for name in names or ():
        if name not in SINKS:
            raise unknown("sink", name, SINKS, "assay train --help")
    if not names:
        return dict(found)
    sinks = ",".join(dict.fromkeys(names))
    _require_alike(SINKS_OF_RUN, found.get(SINKS_OF_RUN, sinks), sinks)
    return {**found, SINKS_OF_RUN: sinks}


def _require_alike(path: str, one: str, other: str) -> None:
    """A setting that is said by two names is said alike."""
    if one != other:
        raise UsageError(f"--{path} is said twice, as '{one}' and as '{other}': leave one out.")


def refuse_theirs(words: Sequence[str]) -> None:
    """Names of TRL's on the line of `train` are refused together, with ours and their values."""
    from assay import trl

    given: dict[str, str] = {}
    for word, then in zip(words, [*words[1:], "--"], strict=True):
        name, equals, value = word.partition("=")
        if word.startswith("--") and trl.is_theirs(name[2:]):
            given[name] = value if equals or then.startswith("--") else then
    if given:
        from assay.known import RECIPES, spelt
        from assay.plugins import load

        load()
        recipe = next((RECIPES[known] for word in words if (known := spelt(word)) is not None), None)
        raise trl.refusal(given, recipe, write=in_shell)


def in_shell(settings: Mapping[str, str]) -> str:
    return " ".join(f"--{name} {shlex.quote(value)}" for name, value in settings.items())


class Told(Exception):
    """What `--help` and `--version` asked for was printed."""


class Parser(argparse.ArgumentParser):
    """Wrong usage has the form and the exit code of every other error."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. `{self.prog} --help` shows what there is.")

    def _print_message(self, message: str, file: Any = None) -> None:
        terminal.write(file or sys.stderr, message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise Told


def settings_help() -> str:
    from assay.configure import settings
    from assay.experiment import Evaluation, Machine, Saving, Tracking
    from assay.policy.conversation import Chat
    from assay.policy.lora import Lora

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
