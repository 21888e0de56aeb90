"""All recipes, by the id of their method."""

from __future__ import annotations

from assay.errors import unknown
from assay.recipe import Recipe
from assay.recipes.ampo import AMPO
from assay.recipes.archer import ARCHER
from assay.recipes.areal import AREAL
from assay.recipes.arpo import ARPO
from assay.recipes.azr import AZR
from assay.recipes.bread import BREAD
from assay.recipes.cispo import CISPO
from assay.recipes.clip_cov import CLIP_COV, KL_COV
from assay.recipes.cure import CURE
from assay.recipes.dapo import DAPO
from assay.recipes.deepsearch import DEEPSEARCH
from assay.recipes.dft import DFT
from assay.recipes.dppo import DPPO, DPPO_KL
from assay.recipes.dr_grpo import DR_GRPO
from assay.recipes.entropy_bonus import ENTROPY_ADVANTAGE, ENTROPY_TARGET
from assay.recipes.erpo import ERPO
from assay.recipes.expert_iteration import EXPERT_ITERATION
from assay.recipes.flowrl import FLOWRL
from assay.recipes.fork_mask import FORK_MASK
from assay.recipes.gdpo import GDPO
from assay.recipes.gepo import GEPO
from assay.recipes.gfpo import GFPO, GFPO_ADAPTIVE, GFPO_EFFICIENCY
from assay.recipes.gmpo import GMPO
from assay.recipes.gpg import GPG
from assay.recipes.gppo import GPPO
from assay.recipes.grpo import GRPO
from assay.recipes.gspo import GSPO, GSPO_TOKEN
from assay.recipes.guide import GUIDE
from assay.recipes.hpt import HPT
from assay.recipes.ift import IFT
from assay.recipes.kimi import KIMI_K15
from assay.recipes.kl_anchor import KL_EMA, KL_OLD, KL_REFERENCE, KL_RESET
from assay.recipes.l1 import L1_EXACT, L1_MAX
from assay.recipes.length import LEN_DAPO, LEN_KIMI, LEN_STOP
from assay.recipes.liteppo import LITEPPO
from assay.recipes.luffy import LUFFY
from assay.recipes.maxrl import MAXRL
from assay.recipes.ngrpo import NGRPO
from assay.recipes.opo import OPO
from assay.recipes.orz import ORZ
from assay.recipes.otb import OTB
from assay.recipes.pacs import PACS
from assay.recipes.passk import PASSK
from assay.recipes.ppo import PPO
from assay.recipes.preferences import DPO, IPO, ITER_DPO, KTO
from assay.recipes.prefix_rft import PREFIX_RFT
from assay.recipes.prime import PRIME
from assay.recipes.psr import NSR, PSR, W_REINFORCE
from assay.recipes.questa import QUESTA
from assay.recipes.r3 import R3, R3_STAGED
from assay.recipes.rapid import RAPID
from assay.recipes.rcrl import RCRL
from assay.recipes.reinforce import REINFORCE
from assay.recipes.relift import RELIFT
from assay.recipes.remax import REMAX
from assay.recipes.rew_qwen import REW_QWEN
from assay.recipes.rfpp import RFPP, RFPP_BASELINE
from assay.recipes.rl_plus import RL_PLUS
from assay.recipes.rl_zvp import RL_ZVP
from assay.recipes.rlad import RLAD, RLAD_HIERARCHICAL, RLAD_JOINT, RLAD_TWO
from assay.recipes.rlep import RLEP
from assay.recipes.rloo import RLOO
from assay.recipes.rlve import RLVE
from assay.recipes.rorecomp import RORECOMP
from assay.recipes.rover import ROVER
from assay.recipes.rpg import RPG
from assay.recipes.rstar2 import RSTAR2
from assay.recipes.sapo import SAPO
from assay.recipes.seele import SEELE
from assay.recipes.sft import SFT
from assay.recipes.simko import SIMKO
from assay.recipes.spec_rl import SPEC_RL
from assay.recipes.spo import SPO
from assay.recipes.srft import SRFT
from assay.recipes.tis import ICEPOP, SEQ_MIS, TIS
from assay.recipes.topr import TOPR
from assay.recipes.treerl import TREERL
from assay.recipes.two_sided import SEQUENCE_MASK, TWO_SIDED
from assay.recipes.vapo import VAPO

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        REINFORCE,
        RLOO,
        GRPO,
        DR_GRPO,
        DAPO,
        PPO,
        ORZ,
        VAPO,
        REMAX,
        RFPP,
        RFPP_BASELINE,
        PRIME,
        LITEPPO,
        OPO,
        GPG,
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
        RLAD_JOINT,
        AZR,
        CLIP_COV,
        KL_COV,
        CISPO,
        GSPO,
        GSPO_TOKEN,
        GMPO,
        GPPO,
        GEPO,
        SAPO,
        DPPO,
        DPPO_KL,
        TOPR,
        FORK_MASK,
        TIS,
        ICEPOP,
        SEQ_MIS,
        AREAL,
        TWO_SIDED,
        SEQUENCE_MASK,
        KL_REFERENCE,
        KL_OLD,
        KL_EMA,
        KL_RESET,
        ENTROPY_TARGET,
        ENTROPY_ADVANTAGE,
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
        PASSK,
        PSR,
        NSR,
        W_REINFORCE,
        NGRPO,
        RL_ZVP,
        OTB,
        MAXRL,
        GDPO,
        SPO,
        GFPO,
        GFPO_EFFICIENCY,
        GFPO_ADAPTIVE,
        L1_EXACT,
        L1_MAX,
        LEN_KIMI,
        LEN_DAPO,
        LEN_STOP,
        REW_QWEN,
        RLEP,
        SIMKO,
        ARCHER,
        LUFFY,
        RL_PLUS,
        SRFT,
        HPT,
        RELIFT,
        PREFIX_RFT,
        BREAD,
        DFT,
        IFT,
        EXPERT_ITERATION,
        RCRL,
    )
}


def recipe(name: str) -> Recipe:
    """The recipe of this name."""
    if name not in RECIPES:
        raise unknown("recipe", name, RECIPES, "assay list recipes")
    return RECIPES[name]
