"""What a run is warned of before its first step, where nothing is loaded."""

from __future__ import annotations

import dataclasses
from typing import Any

from posing import pool_of

from assay.collect import Ahead
from assay.known import RECIPES
from assay.run import session
from assay.run.experiment import Experiment
from assay.run.preflight import Facts, warnings
from assay.source import Pool, Share

POOL = Pool((Share("countdown", (3, 4)),))
SOUND = Facts(parameters=3_000_000, context=512, longest=40, ends={"tokenizer": frozenset({2})})


def experiment(name: str = "grpo", profile: Any = "laptop", **settings: object) -> Experiment:
    overrides = {f"scale.{field}": str(value) for field, value in settings.items()}
    return session.plan(RECIPES[name], model="x/y", pool=pool_of(name, POOL), profile=profile, overrides=overrides)[0]


def told(made: Experiment, **facts: Any) -> str:
    return "\n".join(warnings(made, dataclasses.replace(SOUND, **facts)))


def with_lag(name: str, **machine: object) -> Experiment:
    made = experiment(name)
    mechanism = dataclasses.replace(made.recipe.mechanism, collect=(Ahead(lag=2),))
    recipe = dataclasses.replace(made.recipe, mechanism=mechanism)
    return dataclasses.replace(made, recipe=recipe, machine=dataclasses.replace(made.machine, **machine))  # type: ignore[arg-type]
