"""What a person asked for, as settings: whole paths, flags that are short for one, names of another trainer refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from assay.errors import UsageError, unknown
from assay.recipe import Recipe
from assay.run import trl_names
from assay.run.experiment import Experiment

SHORT = ("scale", "mechanism", "models", "roles", "stages")  # written without the `recipe.` before them


def asked(recipe: Recipe, overrides: Mapping[str, Any], *, steps: int | None, system: str | None) -> dict[str, Any]:
    """{path in the experiment: value}. A setting that has a flag too may be said once, or twice alike."""
    if theirs := {path: str(value) for path, value in overrides.items() if trl_names.is_theirs(path)}:
        raise trl_names.refusal(theirs, recipe, write=in_python)
    found = {full(path): value for path, value in overrides.items()}
    for flag, path, value in (("steps", "recipe.scale.num_steps", steps), ("system", "chat.system", system)):
        if value is None:
            continue
        if str(found.get(path, value)) != str(value):
            raise UsageError(
                f"{flag} and {path.removeprefix('recipe.')} are one setting, and say {value!r} and {found[path]!r}."
            )
        found[path] = value
    return found


def full(path: str) -> str:
    """`scale.x` and `mechanism.x` are short for `recipe.scale.x` and `recipe.mechanism.x`."""
    path = path.replace("-", "_")
    head = path.split(".")[0]
    names = (*SHORT, *(field.name for field in dataclasses.fields(Experiment)))
    if head not in names:
        raise unknown("setting", head, names, "assay show RECIPE")
    return f"recipe.{path}" if head in SHORT else path


def in_python(settings: Mapping[str, str]) -> str:
    """As `assay.train` takes them."""
    said = [f"{name}={value!r}" for name, value in settings.items() if "." not in name]
    dotted = {name.replace("-", "_"): value for name, value in settings.items() if "." in name}
    return ", ".join([*said, *([f"settings={dotted}"] if dotted else [])])
