"""The settings that a person gave, under their full paths in the experiment.

Short paths and options such as --steps are turned into full paths; names of settings in TRL are refused with advice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from assay.errors import UsageError, unknown
from assay.host.reach import reaching
from assay.recipe import Recipe
from assay.run.experiment import Experiment
from assay.run.foreign import typed

MEANS = frozenset({"machine.cache_mb", "machine.checkpointing", "machine.micro_tokens"})
"""Settings of how much memory a step takes: with others a run goes on, and differs in its last bits at most."""

SHORT = ("scale", "mechanism", "models", "roles", "stages")  # paths that begin so are written without `recipe.`


def asked(recipe: Recipe, overrides: Mapping[str, Any], *, steps: int | None, system: str | None) -> dict[str, Any]:
    """{path in the experiment: value}. A setting given both by its option and by its path must have one value."""
    if of_trl := {path: str(value) for path, value in overrides.items() if typed.is_theirs(path)}:
        raise typed.refusal(of_trl, recipe, write=in_python)
    values = {full(path): value for path, value in overrides.items()}
    for flag, path, value in (("steps", "recipe.scale.num_steps", steps), ("system", "chat.system", system)):
        if value is None:
            continue
        if str(values.get(path, value)) != str(value):
            raise UsageError(
                f"{flag} and {path.removeprefix('recipe.')} are one setting, given as {value!r} and as "
                f"{values[path]!r}: leave one out."
            )
        values[path] = value
    return values


def of_resume(experiment: Experiment, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """{path in the experiment: value} of the settings that a resume is given: only those that reach out of the run, to
    a program or an address, because another machine may have others, and those of its memory.
    """
    known = reaching_paths(experiment)
    given = {full(path): value for path, value in overrides.items()}
    if strange := [path for path in given if path not in known | MEANS]:
        raise UsageError(
            f"a resume cannot change {strange[0].removeprefix('recipe.')}: a run goes on with the settings that it "
            f"began with. It takes {', '.join(sorted(known))}, which reach out of the run, and "
            f"{', '.join(sorted(MEANS))}, which say how much memory it takes."
        )
    return given


def reaching_paths(experiment: Experiment) -> set[str]:
    """The settings that reach out of the run, but for those of which the run consists."""
    fields = (setting.field for setting in reaching(experiment))
    return {path for path in fields if path.partition(".")[0] not in ("rewards", "model", "pool")}


def full(path: str) -> str:
    """`scale.x` and `mechanism.x` are short for `recipe.scale.x` and `recipe.mechanism.x`."""
    path = path.replace("-", "_")
    head = path.split(".")[0]
    names = (*SHORT, *(field.name for field in dataclasses.fields(Experiment)))
    if head not in names:
        raise unknown("setting", head, names, "assay show RECIPE")
    return f"recipe.{path}" if head in SHORT else path


def in_python(settings: Mapping[str, str]) -> str:
    """Settings as arguments of `assay.train`, for messages."""
    arguments = [f"{name}={value!r}" for name, value in settings.items() if "." not in name]
    dotted = {name.replace("-", "_"): value for name, value in settings.items() if "." in name}
    return ", ".join([*arguments, *([f"settings={dotted}"] if dotted else [])])
