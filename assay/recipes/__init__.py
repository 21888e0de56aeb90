"""All recipes, by the id of their method."""

from __future__ import annotations

from assay.errors import unknown
from assay.recipe import Recipe
from assay.recipes.dapo import DAPO
from assay.recipes.dr_grpo import DR_GRPO
from assay.recipes.grpo import GRPO
from assay.recipes.questa import QUESTA
from assay.recipes.r3 import R3, R3_STAGED
from assay.recipes.reinforce import REINFORCE
from assay.recipes.rlad import RLAD, RLAD_HIERARCHICAL, RLAD_TWO
from assay.recipes.rloo import RLOO
from assay.recipes.sft import SFT
from assay.recipes.spec_rl import SPEC_RL

ALL = (REINFORCE, RLOO, GRPO, DR_GRPO, DAPO, SFT)
ALL += (SPEC_RL, QUESTA, R3, R3_STAGED, RLAD, RLAD_HIERARCHICAL, RLAD_TWO)
RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in ALL}


def recipe(name: str) -> Recipe:
    """The recipe of this name."""
    if name not in RECIPES:
        raise unknown("recipe", name, RECIPES, "assay list recipes")
    return RECIPES[name]
