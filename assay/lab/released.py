"""Values that the authors of a method published, beside those of its recipe; and gates of a recipe that cannot act.

`releases/RECIPE.toml` has the values of a published configuration, read from its repository, and the reason for each
value in which the recipe differs.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError
from assay.part import Part, name_of

if TYPE_CHECKING:
    from assay.objective import Objective
    from assay.recipe import Mechanism, Recipe

FOLDER = Path(__file__).with_name("releases")
NONE = "none"


@dataclass(frozen=True)
class Released:
    """The values of a configuration that the authors published, and where they were read.

    Released(
        read="github.com/volcengine/verl, recipe/dapo/run_dapo_qwen2.5_32b.sh, commit e2e729f4",
        values={"scale.num_prompts": 512, "mechanism.objective.gate.high": 0.28},
    )
    """

    read: str  # repository, files, version
    values: Mapping[str, Any]  # setting of the recipe, as `--scale.num_prompts` takes it -> the published value
    besides: Mapping[str, Any] = field(default_factory=dict)  # words, where no setting stands for it -> published value
    why: Mapping[str, str] = field(default_factory=dict)  # setting or words -> why it is otherwise here


@dataclass(frozen=True)
class Compared:
    """One published value beside ours.

    Compared("scale.num_minibatches", here=1, released=8, why="Here there is one update a step, so that ...")
    """

    name: str
    here: Any  # None: no setting of the recipe stands for it
    released: Any
    why: str = ""  # why it is otherwise here

    @property
    def same(self) -> bool:
        if self.here is None:
            return not self.why
        if isinstance(self.here, float | int) and isinstance(self.released, float | int):
            return math.isclose(self.here, self.released, rel_tol=1e-9)
        return self.here == self.released


@functools.cache
def released(name: str) -> Released | None:
    """The published values of a recipe's method; None if its authors published none, or nobody has read them."""
    path = FOLDER / f"{name}.toml"
    return Released(**tomllib.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def compared(recipe: Recipe, known: Released) -> list[Compared]:
    """Every published value beside the recipe's own at the paper's scale, then the values without a setting."""
    rows = [
        Compared(name, _plain(value_at(recipe, name)), value, known.why.get(name, ""))
        for name, value in known.values.items()
    ]
    return [*rows, *(Compared(words, None, value, known.why.get(words, "")) for words, value in known.besides.items())]


def deviations(recipe: Recipe) -> list[str]:
    """The deviations of known implementations from the recipe: those that it states itself, and all differences from a
    release.
    """
    known = released(recipe.name)
    differ = [one for one in compared(recipe, known) if not one.same] if known else []
    return [*recipe.deviations, *(_sentence(one) for one in differ)]


def _sentence(one: Compared) -> str:
    here = "" if one.here is None else f"{one.here} here and "
    name = one.name if one.here is None else f"`{one.name}`"
    return f"{name}: {here}{one.released} in the authors' release. {one.why}"


def value_at(recipe: Recipe, name: str) -> Any:
    """The value of a setting of the recipe: `scale.group_size`, `mechanism.reward.1.buffer`, `models.critic.output`.
    None for an index past the end of a list.
    """
    value: Any = recipe
    for at, step in enumerate(name.split(".")):
        inner: Mapping[str, Any] = {}
        if dataclasses.is_dataclass(value):
            inner = {setting.name: getattr(value, setting.name) for setting in dataclasses.fields(value)}
        elif isinstance(value, Mapping):
            inner = value
        elif isinstance(value, tuple) and step.isdecimal():
            if int(step) >= len(value):
                return None
            inner = {str(i): item for i, item in enumerate(value)}
        if step not in inner:
            parent = ".".join(name.split(".")[:at]) or recipe.name
            raise ConfigError(
                f"{recipe.name} has no setting {name}: {parent} has {', '.join(inner) or 'nothing'}, not '{step}'. "
                f"`assay show {recipe.name}` prints them."
            )
        value = inner[step]
    return value


def _plain(value: Any) -> Any:
    """The value as it is written in a file of released values."""
    if value is None or value == ():
        return NONE
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return name_of(value) if isinstance(value, Part) else value


def idle(recipe: Recipe) -> list[str]:
    """Sentences about the gates that cannot act at the recipe's scale: they look at ratios, and every ratio is 1."""
    if recipe.scale.num_updates > 1:
        return []
    names = dict.fromkeys(
        f"{path} {name_of(gate)}"
        for at, mechanism in _mechanisms(recipe).items()
        for inner, goal in _goals(at, mechanism).items()
        for path, gate in _gates(inner, goal).items()
        if gate.off_policy and goal.anchor == "old"
    )
    return [
        f"{name} cannot act on fresh answers: with one update a step every ratio is 1. It acts if "
        "`scale.num_minibatches` or `scale.num_epochs` is above 1, with `machine.lag`, and on answers of earlier steps"
        for name in names
    ]


def _mechanisms(recipe: Recipe) -> dict[str, Mechanism]:
    stages = {f"stages.{i}.mechanism": stage.mechanism for i, stage in enumerate(recipe.stages) if stage.mechanism}
    return {"mechanism": recipe.mechanism, **stages}


def _goals(at: str, mechanism: Mechanism) -> dict[str, Objective]:
    own = {f"{at}.rules.{i}.objective": rule.objective for i, rule in enumerate(mechanism.rules)}
    return {f"{at}.objective": mechanism.objective, **own}


def _gates(at: str, goal: Objective) -> dict[str, Any]:
    """The gates of an objective; none where one function states the whole loss."""
    if goal.whole is not None:
        return {}
    return {f"{at}.gate": goal.gate, **{f"{at}.cases.{i}.gate": one.gate for i, one in enumerate(goal.cases)}}
