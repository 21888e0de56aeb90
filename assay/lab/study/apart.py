"""The settings in which two arms of a study differ: they show a reader what else a difference may come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.lab.study.plan import COMPUTED, Study, StudyRun
from assay.run.configure import to_data
from assay.view.report import leaves

ABSENT = "none"  # in the place of a setting that one arm does not have


def apart(study: Study, task: str, arm: str, beside: str) -> tuple[str, ...]:
    """The settings in which the recipes of two arms differ: `scale.group_size 8, beside 16`, in the order of the
    settings. A part that only one of them has is named without its own settings.
    """
    here, there = (_settings(study, task, name) for name in (arm, beside))
    alone = {place for one, other in ((here, there), (there, here)) for place in _parts(one) - _parts(other)}
    return tuple(
        f"{path.removesuffix('.part')} {here.get(path, ABSENT)}, beside {there.get(path, ABSENT)}"
        for path in dict.fromkeys([*here, *there])
        if here.get(path) != there.get(path)
        if path.endswith(".part") or not any(path.startswith(f"{place}.") for place in alone)
    )


def _parts(settings: Mapping[str, str]) -> set[str]:
    """The paths of the parts of a recipe."""
    return {path.removesuffix(".part") for path in settings if path.endswith(".part")}


def _settings(study: Study, task: str, arm: str) -> dict[str, str]:
    recipe = to_data(study.experiment(StudyRun(arm, task, study.seeds[0]), steps=2))["recipe"]
    told = leaves(_named({name: recipe[name] for name in COMPUTED if name != "name"}))
    return {path: value for path, value in told if value not in ("[]", "{}")}


def _named(tree: Any) -> Any:
    """The tree with lists of parts and stages by their names, so that one more in the middle moves none of the rest."""
    if isinstance(tree, Mapping):
        return {name: _named(value) for name, value in tree.items()}
    if not isinstance(tree, list) or not all(isinstance(item, Mapping) for item in tree):
        return tree
    found: dict[str, Any] = {}
    for place, item in enumerate(tree):
        name = str(item.get("part", item.get("name", place)))
        found[name if name not in found else f"{name} {place + 1}"] = _named(item)
    return found
