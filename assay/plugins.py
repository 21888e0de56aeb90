"""Methods and tasks of other packages, found by their entry points.

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
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from assay import known
from assay.errors import WITHHELD, AssayError, ConfigError
from assay.tasks import TASKS
from assay.tasks.task import Task


@dataclass(frozen=True)
class Offer:
    """What a package offers, and what is wrong with it; nothing, if `problem` is empty."""

    package: str
    kind: str
    name: str
    problem: str = ""


@functools.cache
def load() -> tuple[Offer, ...]:
    """Puts them beside ours, once in a process: whatever reads names from a person begins with this."""
    kinds: tuple[tuple[str, Callable[[EntryPoint], None]], ...] = (
        ("method", add_method),
        ("task", lambda entry: add_task(entry, TASKS)),
    )
    return tuple(_offer(entry, kind, add) for kind, add in kinds for entry in entry_points(group=f"assay.{kind}s"))


def broken() -> list[Offer]:
    """The offers that were left out."""
    return [offer for offer in load() if offer.problem]


def _offer(entry: EntryPoint, kind: str, add: Callable[[EntryPoint], None]) -> Offer:
    problem = ""
    try:
        add(entry)
    except AssayError as error:
        problem = WITHHELD[entry.name] = str(error)
    return Offer(_package(entry), kind, entry.name, problem)


def add_method(entry: EntryPoint) -> None:
    found = _load(entry)
    if not isinstance(found, ModuleType):
        raise _wrong(entry, "a module", found)
    try:
        known.add_whole(found)
    except AssayError as error:
        raise ConfigError(f"{_said(entry)}: {error} Mend that package, or uninstall it.") from None


def add_task(entry: EntryPoint, tasks: MutableMapping[str, Task]) -> None:
    found = _load(entry)
    if not isinstance(found, Task) or found.name != entry.name:
        raise _wrong(entry, f"a Task of the name '{entry.name}'", found)
    if not isinstance(found.levels, range) or not found.levels:
        raise ConfigError(f"{_said(entry)}, whose levels are {found.levels!r}: expected a range that is not empty.")
    if tasks.setdefault(entry.name, found) is not found:
        raise ConfigError(f"{_said(entry)}, and there is a task of this name already. Give it another name.")


def _load(entry: EntryPoint) -> Any:
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is the program's
            return entry.load()
    except (Exception, SystemExit) as error:  # of that package's code, whatever it is
        raise ConfigError(
            f"{_said(entry)}, which cannot be loaded: {type(error).__name__}: {error}. Mend that package, or "
            "uninstall it."
        ) from error


def _wrong(entry: EntryPoint, expected: str, found: object) -> ConfigError:
    return ConfigError(
        f"{_said(entry)}: expected {expected}, came {type(found).__name__} {_shown(found)}. Mend that package, or "
        "uninstall it."
    )


def _shown(found: object) -> str:
    try:
        return f"{str(found)[:60]!r}"
    except Exception:  # of that package's code, whatever it is
        return "that cannot be written"


def _said(entry: EntryPoint) -> str:
    return f"{_package(entry)} offers '{entry.name}' as {entry.value}"


def _package(entry: EntryPoint) -> str:
    return f"the package '{entry.dist.name}'" if entry.dist is not None else "an installed package"
