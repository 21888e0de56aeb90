"""A recipe as lines that a person compares: what the paper sets, and what each profile makes of it.

Values that a record has by default are left out and stand in one file for all recipes; of a part all values stand.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import MISSING
from typing import Any

from assay.objective import Objective
from assay.part import KINDS, name_of
from assay.policy.conversation import Chat
from assay.policy.lora import Lora
from assay.recipe import PROFILES, Mechanism, Recipe, Rule, Stage, at_profile
from assay.run.experiment import Agent, Evaluation, Machine, Saving, Tracking
from assay.scale import Scale

WORDS = ("name", "title", "paper", "claim", "notes", "deviations", "missing")  # prose, which no run depends on
NAMED = ("name", "role")  # said though they are what they are by default
DEFAULTS = (Mechanism(), Objective(), Rule(""), Stage())


def golden(recipe: Recipe) -> str:
    """The lines of the paper's recipe, then of each other profile its rules and the other lines that differ."""
    paper = _said(recipe)
    text = [f"{place} = {value}" for place, value in paper.items()]
    for profile in PROFILES[1:]:
        at, rules = at_profile(recipe, profile)
        found = {place: value for place, value in _said(at).items() if not place.startswith("scale.")}
        text += ["", profile, *(f"  {rule}" for rule in rules)]
        text += [f"  {place} = {value}" for place, value in found.items() if paper.get(place) != value]
    return "\n".join(text) + "\n"


def defaults() -> str:
    """What a line that is left out says: the defaults of everything that a run is made of, a line each."""
    scale = {field.name: repr(field.default) for field in dataclasses.fields(Scale) if field.default is not MISSING}
    records = (*DEFAULTS, Evaluation(), Machine(), Saving(), Tracking(), Lora(), Chat(), Agent())
    lines = [f"scale.{name} = {value}" for name, value in scale.items()]
    for record in records:
        place = type(record).__name__.lower()
        lines += [f"{where} = {value}" for where, value in _lines(record, place, plain=False)]
    return "\n".join(lines) + "\n"


def _said(recipe: Recipe) -> dict[str, str]:
    """Of the recipe's lines those that say more than the ones before: a stage says how it differs from the recipe."""
    own = dict(_lines(recipe.mechanism, ""))
    found: dict[str, str] = {}
    for place, value in _lines(recipe, ""):
        stage, _, inner = place.partition(".mechanism.")
        if not (stage.startswith("stages.") and own.get(inner) == value):
            found[place] = value
    for number, stage in enumerate(recipe.stages):
        if stage.mechanism is not None:
            mine = dict(_lines(stage.mechanism, ""))
            found |= {f"stages.{number}.mechanism.{place}": "default" for place in own if place not in mine}
    return found


def _lines(record: Any, place: str, *, plain: bool = True) -> Iterator[tuple[str, str]]:
    known = next((one for one in DEFAULTS if type(one) is type(record)), None) if plain else None
    for field in dataclasses.fields(record):
        value, where = getattr(record, field.name), f"{place}.{field.name}" if place else field.name
        usual = field.default if known is None else getattr(known, field.name)
        if isinstance(record, Recipe) and field.name in WORDS:
            continue
        if plain and value == usual and field.name not in NAMED:
            continue
        yield from _value(value, where, plain)


def _value(value: Any, where: str, plain: bool) -> Iterator[tuple[str, str]]:
    if dataclasses.is_dataclass(value) and not isinstance(value, KINDS):
        yield from _lines(value, where, plain=plain)
    elif isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
        for number, item in enumerate(value):
            yield from _value(item, f"{where}.{number}", plain)
    elif isinstance(value, Mapping) and any(dataclasses.is_dataclass(item) for item in value.values()):
        for name, item in value.items():
            said = {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
            usual = {field.name: field.default for field in dataclasses.fields(item)}
            changed = {key: one for key, one in said.items() if one != usual[key]}
            yield f"{where}.{name}", _call(type(item).__name__, changed)
    else:
        yield where, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, KINDS):
        return _call(name_of(value), {field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    return repr(value)


def _call(name: str, values: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={_text(value)}' for key, value in values.items())})"
