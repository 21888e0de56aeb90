"""Who speaks in the seats of a world that nobody trains: frozen models of the run."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from assay.models import Models
from assay.recipe import Recipe
from assay.scale import Model
from assay.source import Pool
from assay.tasks import task

if TYPE_CHECKING:
    from assay.engine.interface import Engine


def seated(recipe: Recipe, pool: Pool) -> Recipe:
    """The recipe, in which each seat of the pool's worlds that does not train has somebody to speak for it: the frozen
    model that begins as the base and stays so, or a new one, under the name of the role.
    """
    worlds = [world for share in pool.shares if (world := task(share.task).world) is not None]
    still = [seat.role for world in worlds for seat in world.seats if seat.role and not seat.trains]
    if not (wanted := [role for role in dict.fromkeys(still) if role not in recipe.roles]):
        return recipe
    frozen = next((name for name, model in recipe.models.items() if model == Model(trained=False)), wanted[0])
    models = {**recipe.models, **({} if frozen in recipe.models else {frozen: Model(trained=False)})}
    return dataclasses.replace(recipe, models=models, roles={**recipe.roles, **dict.fromkeys(wanted, frozen)})


def frozen_players(models: Models) -> dict[str, Engine]:
    """Role -> the model that plays it in exams too, of the roles that a frozen model plays."""
    frozen = {name for name, spec in models.specs.items() if not spec.trained and not spec.follows}
    return {role: models[name] for role, name in models.roles.items() if name in frozen}
