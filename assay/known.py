"""The registries: the parts of the phases, and the recipes and parts of the methods, by name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import ModuleType

from assay import ask, collect, credit, curate, forwards, memory, objective, reward, source, stages, tasks
from assay.errors import AssayError, ConfigError, unknown
from assay.host import offers
from assay.host.offers import Offer
from assay.methods import METHODS
from assay.part import KINDS, Part, kind_of, name_of
from assay.part_checks import misspelt
from assay.recipe import Like, Recipe, check

PHASES = (source, ask, collect, reward, curate, forwards, credit, objective, memory, stages)

PARTS: dict[type[Part], dict[str, type[Part]]] = {kind: {} for kind in KINDS}
"""Kind -> name -> part."""

SLOTS = {slot: PARTS[kind] for kind in KINDS for slot in kind.slots}
"""Slot of a recipe -> name -> part that the slot takes."""

RECIPES: dict[str, Recipe] = {}
"""Name -> recipe."""

LIKES: dict[str, Like] = {}
"""Name -> `Like`, for the recipes that are written as another recipe with changes."""

METHOD_OF: dict[str, str] = {}
"""Name of a recipe -> the module of its method."""

ALIASES: dict[str, str] = {}
"""Other name of a recipe, in small letters without spaces, dots and dashes -> its name; the `ALIASES` of methods."""

GROUPS = {group: tuple(f"assay.methods.{group}.{name}" for name in names) for group, names in METHODS.items()}
OTHER_PACKAGES = "others"  # the group of the recipes of other packages


def parts_in(module: ModuleType) -> list[type[Part]]:
    """The parts that a module exports."""
    found = {item for item in vars(module).values() if isinstance(item, type) and issubclass(item, KINDS)}
    return sorted((part for part in found if hasattr(part, "does")), key=lambda part: part.__qualname__)


def add(method: ModuleType) -> None:
    """Registers the recipes of a method with their other names, and the parts of all files of its folder. Refuses a
    name that is taken.

    known.add(sys.modules[__name__])  # in a notebook
    """
    for module in (method, *_files_of(method)):
        for part in parts_in(module):
            if _below(part.__module__, method):
                add_part(part)
    for recipe in _recipes_of(method):
        if recipe.name in METHOD_OF:
            raise ConfigError(
                f"{method.__name__} has a recipe '{recipe.name}', and there is one already in "
                f"{METHOD_OF[recipe.name]}. Rename one of them."
            )
        METHOD_OF[recipe.name] = method.__name__
        if isinstance(recipe, Like):
            LIKES[recipe.name] = recipe
        else:
            RECIPES[recipe.name] = recipe
    ALIASES.update(getattr(method, "ALIASES", {}))


def add_whole(method: ModuleType) -> None:
    """Registers a method if all of its recipes and parts can be used; else registers nothing and raises the error."""
    tables = (RECIPES, LIKES, METHOD_OF, ALIASES, *PARTS.values())
    before = [dict(table) for table in tables]
    try:
        add(method)
        for part in (part for kind in PARTS.values() for part in kind.values() if _below(part.__module__, method)):
            _require_usable(part)
        for name in (name for name, place in METHOD_OF.items() if place == method.__name__):
            check(resolve(name))
    except AssayError:
        for table, was in zip(tables, before, strict=True):
            table.clear()
            table.update(was)  # type: ignore[arg-type]
        raise


def others() -> tuple[Offer, ...]:
    """Registers the methods and tasks of other packages, once in a process, and returns what they offer.

    Call this before reading the name of a recipe, part or task from a person.
    """
    return (*offers.load("method", add_offered), *tasks.others())


def add_offered(entry: EntryPoint) -> None:
    """Registers a method that another package offers, or nothing of it."""
    found = offers.imported(entry)
    if not isinstance(found, ModuleType):
        raise offers.wrong(entry, "a module", found)
    try:
        add_whole(found)
    except AssayError as error:
        raise ConfigError(f"{offers.said(entry)}: {error} Mend that package, or uninstall it.") from None


def add_part(part: type[Part]) -> None:
    """Registers a part by its kind and name."""
    kind, name = kind_of(part), name_of(part)
    if PARTS[kind].setdefault(name, part) is not part:
        other = PARTS[kind][name].__module__
        raise ConfigError(
            f"{part.__module__} has a part '{kind.slots[0]}:{name}', and {other} has one already. Rename one of the "
            "classes, or set its `known_as`."
        )


def part_named(kind: type[Part], name: str) -> type[Part] | None:
    """The part of this kind that has this name, or had it in earlier versions; None if there is none."""
    known = PARTS[kind]
    return known.get(name) or next((part for part in known.values() if name in part.formerly), None)


def resolve(name: str, through: tuple[str, ...] = ()) -> Recipe:
    """The recipe of this name. A `Like` is resolved: its changes are applied to the recipe that it starts from."""
    if name in RECIPES:
        return RECIPES[name]
    if name in through:
        raise ConfigError(f"recipes start from each other in a circle: {' -> '.join((*through, name))}. Break it.")
    if name not in LIKES:
        users = ", ".join(sorted(other for other, like in LIKES.items() if like.like == name))
        raise ConfigError(
            f"there is no recipe '{name}', and others start from it: {users}. Delete these too, or let them start from "
            "another recipe."
        )
    RECIPES[name] = LIKES[name].of(resolve(LIKES[name].like, (*through, name)))
    return RECIPES[name]


def _require_usable(part: type[Part]) -> None:
    """Refuses a part whose function cannot be called, or whose record has a field without a default."""
    if problem := misspelt(part):
        raise ConfigError(f"{part.__module__}: {problem}")
    try:
        part()
    except Exception as error:  # code of another package may raise anything
        raise ConfigError(f"the part {part.__name__} needs a default for each field: {error}.") from error


def _files_of(method: ModuleType) -> list[ModuleType]:
    """The modules of a method's own folder that the method has imported."""
    found = [item for item in vars(method).values() if isinstance(item, ModuleType)]
    return sorted((module for module in found if _below(module.__name__, method)), key=lambda module: module.__name__)


def _below(place: str, method: ModuleType) -> bool:
    """Whether a module, by its name, belongs to the method."""
    return place == method.__name__ or place.startswith(f"{method.__name__}.")


def _recipes_of(method: ModuleType) -> Iterator[Recipe | Like]:
    """The recipes that a module defines, including those in tuples."""
    for item in vars(method).values():
        members = item if isinstance(item, tuple) else (item,)
        yield from (found for found in members if isinstance(found, Recipe | Like))


def _ours() -> None:
    """Registers the parts of the phases, and the methods of this package."""
    for phase in PHASES:
        for part in parts_in(phase):
            add_part(part)
    for place in (place for group in GROUPS.values() for place in group):
        add(importlib.import_module(place))
    for name in LIKES:
        resolve(name)


_ours()


def recipe(name: str) -> Recipe:
    """The recipe of this name. The spelling is free: `Dr.GRPO` and `dr_grpo` are `dr-grpo`.

    recipe("dapo").mechanism.objective.gate  # Clip(low=0.2, high=0.28, dual=10.0)
    assay show dapo
    """
    known = spelt(name)
    if known is None:
        raise unknown("recipe", name, RECIPES, "assay list recipes")
    return RECIPES[known]


def spelt(name: str) -> str | None:
    """The registered name of a recipe, whatever its case, spaces, dots and dashes; None if there is no such recipe."""
    if name in RECIPES:
        return name
    return {**{_plain(known): known for known in RECIPES}, **ALIASES}.get(_plain(name))


def _plain(name: str) -> str:
    return re.sub(r"[\s._-]", "", name.casefold())


def group_of(name: str) -> str:
    """The group of methods that a recipe belongs to; `others` for a recipe of another package."""
    return next((group for group, places in GROUPS.items() if METHOD_OF[name] in places), OTHER_PACKAGES)
