"""`assay show RECIPE --toml`: a file of settings to begin from, in which every line but the recipe is a comment."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from assay.lab.part_card import meanings
from assay.policy.conversation import Chat
from assay.policy.lora import Lora
from assay.recipe import Recipe
from assay.run.configure import to_data
from assay.run.experiment import Agent, Evaluation, Experiment, Machine, Saving, Tracking
from assay.run.setup import Setup
from assay.run.setup_file import as_toml, written

GROUPS = {
    "evaluation": Evaluation,
    "machine": Machine,
    "saving": Saving,
    "tracking": Tracking,
    "lora": Lora,
    "chat": Chat,
    "agent": Agent,
}
SHOWN = 44  # columns of a setting before its meaning


def example(recipe: Recipe) -> str:
    """A file for this recipe: each key with its meaning and default, each setting of the recipe as the paper has it.

    Path("run.toml").write_text(example(RECIPES["grpo"]))
    """
    lines = [f"# {recipe.name}: {recipe.title} ({recipe.paper})", f"recipe = {as_toml(recipe.name)}", ""]
    of_setup = meanings(Setup)
    plain = dataclasses.replace(Setup(), steps=recipe.scale.num_steps)
    for field in dataclasses.fields(Setup):
        if field.name not in ("recipe", "settings"):
            lines.append(_line(field.name, getattr(plain, field.name), of_setup.get(field.name, "")))
    lines.append(_line("cut", "auto", meanings(Experiment).get("cut", "")))
    lines += [
        "",
        "# Of the recipe, as in the paper. A profile fits them to the model; what stands here stays as it is.",
    ]
    lines += ["[scale]", *_settings(to_data(recipe.scale), meanings(type(recipe.scale)))]
    lines += ["", "[mechanism]", *_settings(dict(_leaves(to_data(recipe.mechanism))), {})]
    for name, record in GROUPS.items():
        lines += ["", f"[{name}]", *_settings(to_data(record()), meanings(record))]
    return "\n".join(lines) + "\n"


def _settings(values: Mapping[str, Any], said: Mapping[str, str]) -> list[str]:
    return [_line(path, value, said.get(path, "")) for path, value in values.items()]


def _line(path: str, value: Any, meaning: str) -> str:
    setting = f"# {written(path)} = {as_toml(value)}"
    return f"{setting:<{SHOWN}}# {meaning}" if meaning else setting


def _leaves(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of each setting. A part with its fields is one, and so is a list of parts."""
    for key, inner in value.items():
        where = f"{path}.{key}".removeprefix(".")
        if isinstance(inner, Mapping) and "part" not in inner:
            yield from _leaves(inner, where)
        else:
            yield where, inner
