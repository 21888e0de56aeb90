"""Methods and tasks of other installed packages, found by the entry points of these packages.

[project.entry-points."assay.methods"]
mine = "package.module"                  # a module like those of assay.methods: its recipes and its parts

[project.entry-points."assay.tasks"]
mine = "package.module:TASK"             # a Task of this name

An entry point that cannot be used disturbs nothing else. The error for its name says why it cannot be used.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, distributions
from typing import Any

from assay.errors import WITHHELD, AssayError, ConfigError


@dataclass(frozen=True)
class Offer:
    """One entry point of a package. `problem` says why it cannot be used, and is empty if it can."""

    package: str
    kind: str
    name: str
    problem: str = ""


@functools.cache
def load(kind: str, add: Callable[[EntryPoint], None]) -> tuple[Offer, ...]:
    """The entry points of a kind, "method" or "task". Calls `add` for each, and does so once in a process."""
    return tuple(_offer(entry, kind, add) for entry in installed() if entry.group == f"assay.{kind}s")


@functools.cache
def installed() -> tuple[EntryPoint, ...]:
    """The entry points for Assay of all installed packages. Finding them opens a file of each package, so it is done
    once.
    """
    every = (entry for package in distributions() for entry in package.entry_points)
    return tuple(dict.fromkeys(entry for entry in every if entry.group.startswith("assay.")))


def _offer(entry: EntryPoint, kind: str, add: Callable[[EntryPoint], None]) -> Offer:
    problem = ""
    try:
        add(entry)
    except AssayError as error:
        problem = WITHHELD[entry.name] = str(error)
    return Offer(_package(entry), kind, entry.name, problem)


def imported(entry: EntryPoint) -> Any:
    """Imports the object that an entry point names."""
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is kept for the answer of the command
            return entry.load()
    except (Exception, SystemExit) as error:  # the code of that package may raise anything
        raise ConfigError(
            f"{said(entry)}, which cannot be loaded: {type(error).__name__}: {error}. Repair that package, or "
            "uninstall it."
        ) from error


def wrong(entry: EntryPoint, expected: str, found: object) -> ConfigError:
    """The error for an entry point that names an object of the wrong type."""
    return ConfigError(
        f"{said(entry)}: expected {expected}, came {type(found).__name__} {_shown(found)}. Repair that package, or "
        "uninstall it."
    )


def said(entry: EntryPoint) -> str:
    """The entry point in words, as the beginning of an error."""
    return f"{_package(entry)} offers '{entry.name}' as {entry.value}"


def _shown(found: object) -> str:
    try:
        return f"{str(found)[:60]!r}"
    except Exception:  # the code of that package may raise anything
        return "whose text cannot be made"


def _package(entry: EntryPoint) -> str:
    return f"the package '{entry.dist.name}'" if entry.dist is not None else "an installed package"
