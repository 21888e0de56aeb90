"""Setups in TOML files, or YAML: `assay train --config run.toml`, and the `run.toml` of every run folder. Files that
were written for other trainers are translated (`assay.run.foreign`).

A key is an option of the command line without its dashes, and a table a group of settings:

    recipe = "grpo"
    data = ["problems.jsonl"]

    [scale]
    learning-rate = 2e-5
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import UnknownName, near, unknown
from assay.host.terminal import say
from assay.known import RECIPES
from assay.run.experiment import Experiment
from assay.run.foreign import typed
from assay.run.foreign.forms import mapping
from assay.run.foreign.translation import source, summary, translated
from assay.run.grader import absolute
from assay.run.settings import SHORT
from assay.run.setup import FIELDS, Setup
from assay.run.short_names import SHORT_NAMES, leaves
from assay.scale import Scale
from assay.streams import hints_of
from assay.tasks.data.task import all_located
from assay.verifiers.functions.naming import NAMELESS, names, parse

NAME = "run.toml"  # in a run folder
GROUPS = dict.fromkeys(
    (*SHORT, *(field.name for field in dataclasses.fields(Experiment) if field.name not in FIELDS), *SHORT_NAMES)
)
"""The keys that are settings, or tables of settings."""
PLAIN = re.compile(r"[A-Za-z0-9_-]+")  # a key that needs no quotes
BARE = re.compile(r"true|false|-?(0|[1-9][0-9]*)(\.[0-9]+)?(e-?[0-9]+)?")  # text that is written without quotes


def read(path: Path) -> dict[str, Any]:
    """What a file gives of a setup: field -> value, and the settings by their paths. Refuses keys that mean nothing.
    Of a file that was written for another trainer it says which keys have no effect.
    """
    if (translation := translated(path)) is None:
        return given(table(path), path)
    theirs = source(path, translation)
    for line in summary(translation):
        say(line)
    return theirs


def table(path: Path) -> dict[str, Any]:
    """The content of a TOML or YAML file."""
    return mapping(path)


def given(data: Mapping[str, Any], path: Path, *, beside: Sequence[str] = ()) -> dict[str, Any]:
    """What such a table, of the file at this path, gives of a setup. `beside` are other keys that the file may have."""
    fields: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for key, value in data.items():
        name = key.replace("-", "_")
        if name == "settings":
            settings |= flat(value)
        elif name in FIELDS:
            fields[name] = value
        elif name.partition(".")[0] in GROUPS:
            settings |= dict(_leaves(name, value))
        elif not typed.is_theirs(name):
            raise _unknown(key, path, [written(name) for name in (*FIELDS, *GROUPS, *beside)])
    if theirs := {key: str(value) for key, value in data.items() if typed.is_theirs(key)}:
        raise typed.refusal(theirs, RECIPES.get(str(data.get("recipe"))), write=_in_file)
    return {**fields, "settings": settings}


def _unknown(key: str, path: Path, keys: Sequence[str]) -> UnknownName:
    """The error for a key that means nothing at the top of a file: the nearest key, or the setting in its table."""
    inside = {written(leaf): where for leaf, where in settings_by_name().items()}
    nearest = near(written(key), [*keys, *inside])
    if nearest is None or nearest in keys:
        return unknown(f"key of {path}", key, keys, "assay show RECIPE --toml")
    group, _, rest = inside[nearest].partition(".")
    return UnknownName(f"no key of {path} named '{key}'. Did you mean {written(rest)}, in the table [{group}]?")


def settings_by_name() -> dict[str, str]:
    """Name of a setting -> its path, for the names that one group alone has."""
    hints = hints_of(Experiment, notes=False)
    records = {"scale": Scale} | {group: hints[group] for group in GROUPS if group in hints}
    pairs = [
        (field.name, f"{group}.{field.name}")
        for group, kind in records.items()
        if dataclasses.is_dataclass(kind)
        for field in dataclasses.fields(kind)
    ]
    names = [name for name, _ in pairs]
    return {name: path for name, path in pairs if names.count(name) == 1}


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in tables, or under dotted keys, by their paths."""
    return {path: value for key, inner in settings.items() for path, value in _leaves(key.replace("-", "_"), inner)}


def _in_file(settings: Mapping[str, str]) -> str:
    """Settings as lines of a file, for messages."""
    return ", ".join(f"{name} = {value}" for name, value in settings.items())


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """(path, value) of each setting below this path, as the command line has them."""
    for place, inner in leaves(path, value):
        yield place, inner if isinstance(inner, str | list | Mapping) else _scalar(inner)


def _scalar(value: Any) -> str:
    """A number or truth value as the command line has it, so that a setting that is text may be written without quotes
    too: `samplers = 2`.
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def text(setup: Setup, *, about: Sequence[str] = ()) -> str:
    """The setup as such a file, without what it leaves out; `about` are lines of comment at its beginning."""
    plain = Setup()
    lines = [f"# {line}".rstrip() for line in about]
    for name in FIELDS:
        value = getattr(setup, name)
        if name != "settings" and value != getattr(plain, name):
            lines.append(f"{written(name)} = {as_toml(value)}")
    groups: dict[str, dict[str, Any]] = {}
    for path, value in setup.settings.items():
        group, _, rest = path.removeprefix("recipe.").partition(".")
        groups.setdefault(group, {})[rest] = value
    lines += [f"{written(name)} = {_setting(own[''])}" for name, own in groups.items() if "" in own]
    for name, own in groups.items():
        if "" not in own:
            lines += [
                "",
                f"[{written(name)}]",
                *(f"{_key(path, own)} = {_setting(value)}" for path, value in own.items()),
            ]
    return "\n".join(lines) + "\n"


def _key(path: str, others: Mapping[str, Any]) -> str:
    """The dotted path as a key; as one quoted key where another setting replaces what the path leads through."""
    parts = written(path).split(".")
    through = any(path.startswith(f"{other}.") or other.startswith(f"{path}.") for other in others)
    return json.dumps(".".join(parts)) if through else ".".join(map(_segment, parts))


def _segment(key: str) -> str:
    return key if PLAIN.fullmatch(key) else json.dumps(key)


def written(name: str) -> str:
    """A name as files and the command line have it: with hyphens."""
    return name.replace("_", "-")


def _setting(value: Any) -> str:
    """A setting as TOML writes it: a number that the command line gave as text is one again."""
    return value if isinstance(value, str) and BARE.fullmatch(value) else as_toml(value)


def as_toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_segment(str(key))} = {as_toml(item)}' for key, item in value.items())}}}"
    if value is None:
        return '"none"'
    if isinstance(value, int | float):
        return str(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def repeating(setup: Setup, experiment: Experiment) -> str:
    """The file that repeats a run from any working directory: what the setup left to the machine is named, and paths
    are whole.
    """
    whole = dataclasses.replace(
        setup,
        recipe=setup.recipe or experiment.recipe.name,
        model=experiment.model,
        data=all_located(setup.data),
        eval_data=all_located(setup.eval_data),
        reward=absolute(setup.reward),
        only_reward=absolute(setup.only_reward),
        tools=absolute(setup.tools),
        mcp=experiment.mcp,
        profile=experiment.profile,
        steps=setup.steps if setup.epochs is None else experiment.recipe.scale.num_steps,
        epochs=None,
        run="",
    )
    return text(whole, about=[f"The same run again: assay train --config {NAME}", *_lost(experiment)])


def _lost(experiment: Experiment) -> list[str]:
    """What no file can name."""
    kinds = (("reward function", experiment.rewards), ("tool", experiment.tools))
    lost = [(kind, name) for kind, texts in kinds for name in nameless(texts)]
    return [
        f"The {kind} {name} was passed by a program: write it into a file, as FILE.py:FUNCTION." for kind, name in lost
    ]


def nameless(texts: Sequence[str]) -> list[str]:
    """The names of those functions that exist only in the program that passed them."""
    named = [parse(text) for text in texts]
    return [name for name, function in zip(names(named), named, strict=True) if function.place == NAMELESS]
