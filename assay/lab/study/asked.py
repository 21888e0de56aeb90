"""The study that a person asks for in a line: recipes side by side, or a recipe over a grid of settings."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import UsageError
from assay.host.terminal import say
from assay.known import RECIPES
from assay.lab.study.declared import check, differences
from assay.lab.study.plan import Arm, Budget, Study, StudyRun, profile_for, tasks_asked
from assay.run.experiment import Experiment
from assay.run.settings import full
from assay.run.setup import Setup

LENGTH = "recipe.scale.max_new"
DEFAULT_SEEDS, DEFAULT_BUDGET = 5, "steps=100"


def of_recipes(names: Sequence[str], setup: Setup, **rest: Any) -> tuple[Study, Path]:
    """The study that compares these recipes, and the folder that it is in unless another is named."""
    if repeated := {name for name in names if names.count(name) > 1}:
        raise UsageError(f"{min(repeated)} is named twice; two forms of a recipe are two arms of a study in a file.")
    more = [f"and-{len(names) - 3}"] if len(names) > 3 else []
    return of_arms({name: Arm(name) for name in names}, setup, **rest), Path("studies") / "-".join([*names[:3], *more])


def of_grid(recipe: str, grid: Mapping[str, Sequence[Any]], setup: Setup, **rest: Any) -> tuple[Study, Path]:
    """The same for a recipe as it is beside each point of a grid: setting -> values."""
    points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    arms = {recipe: Arm(recipe)} | {_named(point): Arm(recipe, point) for point in points}
    study = of_arms(arms, setup, differ=tuple(name.replace("-", "_") for name in grid), **rest)
    return study, Path("studies") / "-".join([recipe, *(name.rpartition(".")[2] for name in grid)])


def _named(point: Mapping[str, Any]) -> str:
    """The name of a point of a grid: `learning-rate 1e-4, group-size 8`."""
    return ", ".join(f"{name.rpartition('.')[2]} {value}" for name, value in point.items())


def of_arms(
    arms: Mapping[str, Arm], setup: Setup, *, seeds: int | None = None, budget: str | None = None, **rest: Any
) -> Study:
    """The checked study of these arms, on what the setup describes; its steps are the budget if no other is named."""
    if setup.epochs is not None:
        raise UsageError("a comparison gives every run one budget: --budget steps=N or tokens=N, in place of epochs.")
    steps = DEFAULT_BUDGET if setup.steps is None else f"steps={setup.steps}"
    study = Study(
        arms=arms,
        tasks=tasks_asked(setup),
        seeds=tuple(range(DEFAULT_SEEDS if seeds is None else seeds)),
        budget=Budget.parse(budget or steps),
        model=setup.model,
        profile=profile_for(setup.model) if setup.profile == "auto" else setup.profile,
        settings=setup.overrides(),
        asked=setup,
        **rest,
    )
    study = _of_one_length(study) if setup.data else study
    check(study)
    return study


def _of_one_length(study: Study) -> Study:
    """The study with one limit of answers for all arms. To rows of files each recipe brings its paper's, and what
    differs beside the methods could be what is measured.
    """
    settings = (study.settings, study.differ, *(arm.settings for arm in study.arms.values()))
    chosen = {full(path) for given in settings for path in given}
    if LENGTH in chosen or not all(arm.recipe in RECIPES for arm in study.arms.values()):
        return study
    limits = differences(study, next(iter(study.tasks))).get("scale.max_new")
    if not limits:
        return study
    first, limit = next(iter(limits.items()))
    told = ", ".join(f"{arm} {value}" for arm, value in limits.items())
    say(f"scale.max_new {limit} for all, which is that of {first}: their papers' are {told}")
    return dataclasses.replace(study, settings={**study.settings, LENGTH: limit})


def first_experiment(study: Study) -> Experiment:
    """The experiment of the first run, which names all code and addresses that the study reaches."""
    return study.experiment(StudyRun(next(iter(study.arms)), next(iter(study.tasks)), study.seeds[0]), steps=2)
