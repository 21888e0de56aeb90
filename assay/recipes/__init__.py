"""All recipes, by the id of their method."""

from __future__ import annotations

from assay.errors import unknown
from assay.recipe import Recipe
from assay.recipes.arpo import ARPO
from assay.recipes.azr import AZR
from assay.recipes.dapo import DAPO
from assay.recipes.dr_grpo import DR_GRPO
from assay.recipes.grpo import GRPO
from assay.recipes.reinforce import REINFORCE
from assay.recipes.rloo import RLOO
from assay.recipes.rorecomp import RORECOMP
from assay.recipes.rstar2 import RSTAR2
from assay.recipes.sft import SFT

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe for recipe in (REINFORCE, RLOO, GRPO, DR_GRPO, DAPO, SFT, ARPO, RSTAR2, RORECOMP, AZR)
}


def recipe(name: str) -> Recipe:
    """The recipe of this name."""
    if name not in RECIPES:
        raise unknown("recipe", name, RECIPES, "assay list recipes")
    return RECIPES[name]
