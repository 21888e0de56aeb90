"""All recipes, by the id of their method."""

from __future__ import annotations

from assay.errors import unknown
from assay.recipe import Recipe
from assay.recipes.ampo import AMPO
from assay.recipes.arpo import ARPO
from assay.recipes.azr import AZR
from assay.recipes.cure import CURE
from assay.recipes.dapo import DAPO
from assay.recipes.deepsearch import DEEPSEARCH
from assay.recipes.dr_grpo import DR_GRPO
from assay.recipes.erpo import ERPO
from assay.recipes.flowrl import FLOWRL
from assay.recipes.grpo import GRPO
from assay.recipes.guide import GUIDE
from assay.recipes.kimi import KIMI_K15
from assay.recipes.pacs import PACS
from assay.recipes.preferences import DPO, IPO, ITER_DPO, KTO
from assay.recipes.questa import QUESTA
from assay.recipes.r3 import R3, R3_STAGED
from assay.recipes.rapid import RAPID
from assay.recipes.reinforce import REINFORCE
from assay.recipes.rlad import RLAD, RLAD_HIERARCHICAL, RLAD_TWO
from assay.recipes.rloo import RLOO
from assay.recipes.rlve import RLVE
from assay.recipes.rorecomp import RORECOMP
from assay.recipes.rover import ROVER
from assay.recipes.rpg import RPG
from assay.recipes.rstar2 import RSTAR2
from assay.recipes.seele import SEELE
from assay.recipes.sft import SFT
from assay.recipes.spec_rl import SPEC_RL
from assay.recipes.treerl import TREERL

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        REINFORCE,
        RLOO,
        GRPO,
        DR_GRPO,
        DAPO,
        SFT,
        RLVE,
        ERPO,
        QUESTA,
        R3,
        R3_STAGED,
        GUIDE,
        AMPO,
        SEELE,
        CURE,
        ARPO,
        TREERL,
        DEEPSEARCH,
        SPEC_RL,
        RORECOMP,
        RSTAR2,
        RLAD,
        RLAD_HIERARCHICAL,
        RLAD_TWO,
        AZR,
        PACS,
        ROVER,
        FLOWRL,
        *RPG,
        RAPID,
        KIMI_K15,
        DPO,
        ITER_DPO,
        IPO,
        KTO,
    )
}


def recipe(name: str) -> Recipe:
    """The recipe of this name."""
    if name not in RECIPES:
        raise unknown("recipe", name, RECIPES, "assay list recipes")
    return RECIPES[name]
