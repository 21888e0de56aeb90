"""Which numbers a run has: those of its profile, its task and the person who starts it, and the constants of the recipe
that follow them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from assay.recipe import as_named, at_scale, profiled, warmed
from assay.run.configure import override
from assay.run.context_fit import asked_of, longest_solution
from assay.run.experiment import Experiment
from assay.run.memory_plan import is_adapter
from assay.scale import Scale


def at_its_scale(experiment: Experiment, asked: Mapping[str, Any]) -> tuple[Experiment, list[str]]:
    """The experiment at the scale of its profile, of its task and of what a person asked for, by path, in this order;
    the constants of the recipe follow what comes of it.
    """

    def is_asked(name: str) -> bool:
        return "recipe.scale" in asked or f"recipe.scale.{name}" in asked

    paper, pool = experiment.recipe, experiment.pool
    adapted = bool(experiment.lora.rank) or is_adapter(experiment.model)
    scale, rules = profiled(paper.scale, experiment.profile, adapted=adapted)
    if pool.wording == "compact" and not is_asked("max_new"):
        longest = longest_solution(asked_of(paper, pool))
        rules.append(f"max_new: {scale.max_new} -> {longest} (half as long again as solutions are)")
        scale = dataclasses.replace(scale, max_new=longest)
    experiment = dataclasses.replace(experiment, recipe=dataclasses.replace(paper, scale=scale))
    for path, value in asked.items():
        experiment = override(experiment, path, value)
    wanted, told = experiment.recipe.scale, []
    if not is_asked("warmup_steps"):
        wanted, told = warmed(scale, wanted)
    recipe, moved = at_scale(paper, wanted)
    return dataclasses.replace(experiment, recipe=recipe), [*rules, *told, *moved]


def named_at(scale: Scale, rules: list[str], parts: Any) -> Any:
    """Parts that a person named, with the defaults that this scale makes of theirs, which the rules tell of."""
    found, moved = as_named(parts, scale)
    rules += moved
    return found
