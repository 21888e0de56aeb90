"""The scale of a run: the paper's numbers, changed by the profile, by the task and by the person who starts the run.

Some constants inside a recipe's parts follow the scale, for example a length penalty that begins near `max_new`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from assay.recipe import as_named, at_scale, profiled, warmed
from assay.run.configure import override
from assay.run.context_fit import asked_of, longest_solution
from assay.run.experiment import Experiment
from assay.run.fresh_models import numbers_of
from assay.run.named_model import is_adapter
from assay.run.pretrained_needs import answer_tokens
from assay.scale import Scale


def at_its_scale(experiment: Experiment, asked: Mapping[str, Any]) -> tuple[Experiment, list[str]]:
    """The experiment at its scale, and a line for each number that differs from the paper's and that no person gave.

    The profile changes the paper's scale first, then the task, then the person: `asked` holds the settings of the scale
    by their path. At the end the constants of the recipe's parts are adapted to the scale.
    """

    def is_asked(name: str) -> bool:
        return "recipe.scale" in asked or f"recipe.scale.{name}" in asked

    paper, pool = experiment.recipe, experiment.pool
    adapted = bool(experiment.lora.rank) or is_adapter(experiment.model)
    scale, rules = profiled(paper.scale, experiment.profile, adapted=adapted)
    words = numbers_of(pool) is None
    if words and pool.wording == "compact" and not is_asked("max_new"):
        longest = longest_solution(asked_of(paper, pool))
        rules.append(f"max_new: {scale.max_new} -> {longest} (half as long again as solutions are)")
        scale = dataclasses.replace(scale, max_new=longest)
    elif words and experiment.profile == "processor" and not is_asked("max_new"):
        longest = answer_tokens(asked_of(paper, pool))
        rules.append(f"max_new: {scale.max_new} -> {longest} (a sentence around the solution)")
        scale = dataclasses.replace(scale, max_new=longest)
    experiment = dataclasses.replace(experiment, recipe=dataclasses.replace(paper, scale=scale))
    for path, value in asked.items():
        experiment = override(experiment, path, value)
    wanted, warmup = experiment.recipe.scale, []
    if not is_asked("warmup_steps"):
        wanted, warmup = warmed(scale, wanted)
    recipe, moved = at_scale(paper, wanted)
    told = [line for line in rules if not is_asked(_number_of(line))]
    return dataclasses.replace(experiment, recipe=recipe), [*told, *warmup, *moved]


def _number_of(line: str) -> str:
    """The number of the scale that a line of a profile is about."""
    return line.removeprefix("the paper's ").split()[0].rstrip(":")


def named_at(scale: Scale, rules: list[str], parts: Any) -> Any:
    """Parts that a person chose by name, with their defaults adapted to this scale; adds a line for each to `rules`."""
    adapted, moved = as_named(parts, scale)
    rules += moved
    return adapted
