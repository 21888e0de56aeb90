"""What there is by name: the parts of the phases, and the recipes and parts of the methods."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from types import ModuleType

from assay import assess, augment, collect, credit, curate, memory, objective, reward, source, stages
from assay.errors import AssayError, ConfigError, unknown
from assay.methods import METHODS
from assay.part import KINDS, Part, kind_of, misspelt, name_of
from assay.recipe import Like, Recipe, check

PHASES = (source, augment, collect, reward, curate, assess, credit, objective, memory, stages)

PARTS: dict[type[Part], dict[str, type[Part]]] = {kind: {} for kind in KINDS}
"""All parts, by kind and by name."""

SLOTS = {slot: PARTS[kind] for kind in KINDS for slot in kind.slots}
"""All parts, by the slot of a recipe that they fit and by name."""

RECIPES: dict[str, Recipe] = {}
"""All recipes, by name."""

LIKES: dict[str, Like] = {}
"""Of those, the ones that are others with changes, as they were written."""

METHOD_OF: dict[str, str] = {}
"""The module in which each recipe stands, by the recipe's name."""

GROUPS = {group: tuple(f"assay.methods.{name}" for name in names) for group, names in METHODS.items()}
OTHERS = "others"  # of other packages
ALIASES = {"reinforce++": "rfpp", "reinforce++baseline": "rfpp-baseline"}  # names that no other spelling leads to


def parts_in(module: ModuleType) -> list[type[Part]]:
    """The parts that a module exports."""
    found = {item for item in vars(module).values() if isinstance(item, type) and issubclass(item, KINDS)}
    return sorted((part for part in found if hasattr(part, "does")), key=lambda part: part.__qualname__)


def add(method: ModuleType) -> None:
    """Makes the recipes and the parts of a method known, parts of its files too; refuses a name that is taken."""
    for module in (method, *_files_of(method)):
        for part in parts_in(module):
            if _below(part.__module__, method):
                add_part(part)
    for found in _recipes_of(method):
        if found.name in METHOD_OF:
            raise ConfigError(f"{method.__name__} has a recipe '{found.name}', and there is one already. Rename it.")
        METHOD_OF[found.name] = method.__name__
        if isinstance(found, Like):
            LIKES[found.name] = found
        else:
            RECIPES[found.name] = found


def add_whole(method: ModuleType) -> None:
    """The method, if everything of it can be used; else nothing of it, and the error says why."""
    tables = (RECIPES, LIKES, METHOD_OF, *PARTS.values())
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


def add_part(part: type[Part]) -> None:
    """Makes a part known by its kind and name."""
    kind, name = kind_of(part), name_of(part)
    if PARTS[kind].setdefault(name, part) is not part:
        other = PARTS[kind][name].__module__
        raise ConfigError(
            f"{part.__module__} has a part '{kind.slots[0]}:{name}', and {other} has one already. Rename its class, or "
            "say what it is `known_as`."
        )


def resolve(name: str, through: tuple[str, ...] = ()) -> Recipe:
    """The recipe of this name, worked out where it is another one with changes."""
    if name in RECIPES:
        return RECIPES[name]
    if name in through:
        raise ConfigError(f"recipes start from each other in a circle: {' -> '.join((*through, name))}.")
    if name not in LIKES:
        users = ", ".join(sorted(other for other, like in LIKES.items() if like.like == name))
        raise ConfigError(
            f"there is no recipe '{name}', and others start from it: {users}. Delete these too, or let them start from "
            "another."
        )
    RECIPES[name] = LIKES[name].of(resolve(LIKES[name].like, (*through, name)))
    return RECIPES[name]


def _require_usable(part: type[Part]) -> None:
    """Its function can be called, and its record be made without values."""
    if problem := misspelt(part):
        raise ConfigError(f"{part.__module__}: {problem}")
    try:
        part()
    except Exception as error:  # of that package's code, whatever it is
        raise ConfigError(f"the record {part.__name__} wants a default for each field: {error}.") from error


def _files_of(method: ModuleType) -> list[ModuleType]:
    """What a method's folder has imported of its own files."""
    found = [item for item in vars(method).values() if isinstance(item, ModuleType)]
    return sorted((module for module in found if _below(module.__name__, method)), key=lambda module: module.__name__)


def _below(place: str, method: ModuleType) -> bool:
    return place == method.__name__ or place.startswith(f"{method.__name__}.")


def _recipes_of(method: ModuleType) -> Iterator[Recipe | Like]:
    """Its recipes, in tuples too."""
    for item in vars(method).values():
        members = item if isinstance(item, tuple) else (item,)
        yield from (found for found in members if isinstance(found, Recipe | Like))


def _ours() -> None:
    for phase in PHASES:
        for part in parts_in(phase):
            add_part(part)
    for place in (place for group in GROUPS.values() for place in group):
        add(importlib.import_module(place))
    for name in LIKES:
        resolve(name)


_ours()


def recipe(name: str) -> Recipe:
    """The recipe of this name, however it is written: `Dr.GRPO` and `dr_grpo` are `dr-grpo`."""
    known = spelt(name)
    if known is None:
        raise unknown("recipe", name, RECIPES, "assay list recipes")
    return RECIPES[known]


def spelt(name: str) -> str | None:
    """The name of a recipe as it is written here: case, spaces, dots and dashes make no difference."""
    if name in RECIPES:
        return name
    return {**{_plain(known): known for known in RECIPES}, **ALIASES}.get(_plain(name))


def _plain(name: str) -> str:
    return re.sub(r"[\s._-]", "", name.casefold())


def group_of(name: str) -> str:
    """What a recipe is about; those of other packages are `others`."""
    return next((group for group, places in GROUPS.items() if METHOD_OF[name] in places), OTHERS)
