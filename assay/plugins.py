"""Recipes and parts of other packages, found by their entry points.

[project.entry-points."assay.recipes"]
mine = "package.module:MINE"             # a Recipe of this name

[project.entry-points."assay.parts"]
"gate:mine" = "package.module:GATE"      # (Record, function), as in the registry of that slot
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, MutableMapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from assay.configure import SLOTS
from assay.errors import ConfigError, unknown
from assay.part import Part
from assay.recipe import Recipe
from assay.recipes import RECIPES


@functools.cache
def load() -> None:
    """Puts them beside ours, once in a process: whatever reads names from a person begins with this."""
    add_parts(SLOTS)  # type: ignore[arg-type]
    add_recipes(RECIPES)


def add_recipes(known: MutableMapping[str, Recipe]) -> None:
    """Puts the recipes of other packages beside ours."""
    for entry in entry_points(group="assay.recipes"):
        found = _load(entry)
        if not isinstance(found, Recipe) or found.name != entry.name:
            raise _wrong(entry, f"a Recipe of the name '{entry.name}'", found)
        _add(known, entry, found)


def add_parts(slots: Mapping[str, MutableMapping[str, Any]]) -> None:
    """Puts the parts of other packages into the registries of their slots."""
    for entry in entry_points(group="assay.parts"):
        slot, _, name = entry.name.partition(":")
        if slot not in slots or not name:
            raise unknown(f"slot for the part '{entry.name}' of {_package(entry)}", slot, slots, "assay list parts")
        found = _load(entry)
        pair = isinstance(found, tuple) and len(found) == 2
        if not pair or not (isinstance(found[0], type) and issubclass(found[0], Part) and callable(found[1])):
            raise _wrong(entry, "a pair (Record, function), Record a subclass of Part", found)
        _add(slots[slot], entry, found, name)


def _load(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"{_package(entry)} offers '{entry.name}' as {entry.value}, which cannot be loaded: {error}. Mend that "
            "package, or uninstall it."
        ) from error


def _add(known: MutableMapping[str, Any], entry: EntryPoint, found: Any, name: str | None = None) -> None:
    name = name or entry.name
    if name in known and known[name] is not found:
        raise ConfigError(f"{_package(entry)} offers '{entry.name}', and there is one already. Give it another name.")
    known[name] = found


def _wrong(entry: EntryPoint, expected: str, found: object) -> ConfigError:
    return ConfigError(
        f"{_package(entry)} offers '{entry.name}' as {entry.value}: expected {expected}, came {type(found).__name__} "
        f"{str(found)[:60]!r}. Mend that package, or uninstall it."
    )


def _package(entry: EntryPoint) -> str:
    return f"the package '{entry.dist.name}'" if entry.dist is not None else "an installed package"
