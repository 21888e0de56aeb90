"""What other packages offer, found by their entry points.

[project.entry-points."assay.methods"]
mine = "package.module"                  # a module like those of assay.methods: its recipes and its parts

[project.entry-points."assay.tasks"]
mine = "package.module:TASK"             # a Task of this name

An offer that cannot be used is left out and named, and everything else works: whoever asks for it is told why.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from assay.errors import WITHHELD, AssayError, ConfigError


@dataclass(frozen=True)
class Offer:
    """What a package offers, and what is wrong with it; nothing, if `problem` is empty."""

    package: str
    kind: str
    name: str
    problem: str = ""


@functools.cache
def load(kind: str, add: Callable[[EntryPoint], None]) -> tuple[Offer, ...]:
    """What packages offer of this kind, each made known by `add`; once in a process."""
    return tuple(_offer(entry, kind, add) for entry in entry_points(group=f"assay.{kind}s"))


def _offer(entry: EntryPoint, kind: str, add: Callable[[EntryPoint], None]) -> Offer:
    problem = ""
    try:
        add(entry)
    except AssayError as error:
        problem = WITHHELD[entry.name] = str(error)
    return Offer(_package(entry), kind, entry.name, problem)


def imported(entry: EntryPoint) -> Any:
    """What the entry point names."""
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is the program's
            return entry.load()
    except (Exception, SystemExit) as error:  # of that package's code, whatever it is
        raise ConfigError(
            f"{said(entry)}, which cannot be loaded: {type(error).__name__}: {error}. Mend that package, or uninstall "
            "it."
        ) from error


def wrong(entry: EntryPoint, expected: str, found: object) -> ConfigError:
    """The error of an offer that is something else than its kind is."""
    return ConfigError(
        f"{said(entry)}: expected {expected}, came {type(found).__name__} {_shown(found)}. Mend that package, or "
        "uninstall it."
    )


def said(entry: EntryPoint) -> str:
    """The offer in words, as errors begin."""
    return f"{_package(entry)} offers '{entry.name}' as {entry.value}"


def _shown(found: object) -> str:
    try:
        return f"{str(found)[:60]!r}"
    except Exception:  # of that package's code, whatever it is
        return "that cannot be written"


def _package(entry: EntryPoint) -> str:
    return f"the package '{entry.dist.name}'" if entry.dist is not None else "an installed package"
