"""Instruction following: the share of rules that code checks, times a judge's word on the rules that it cannot."""

from assay.methods.shaping.verif.rules import JudgedRules
from assay.objective import KL
from assay.recipe import Like
from assay.reward import KeptRules, Product

VERIF = Like(
    "grpo",
    name="verif",
    title="VerIF: Verification Engineering for Reinforcement Learning in Instruction Following",
    paper="2506.09942",
    claim="code for hard constraints times a reasoning judge for soft ones makes 7B and 8B models the best of their "
    "size on IFEval, Multi-IF, CFBench, FollowBench and SysBench, and keeps their general ability",
    changes={
        "mechanism.reward": (Product(of=(KeptRules(), JudgedRules()), name="verif"),),
        "mechanism.objective.regularise": (KL(weight=1e-3, estimator="k3"),),
        "scale.num_prompts": 32,
        "scale.group_size": 16,
        "scale.max_new": 4096,
    },
    notes=(
        'Hard rules are the column `rules` of the data, such as [["words-at-most", 50], ["lowercase"]], or the task\'s '
        "own; soft rules are the column `soft`, a list of texts. Either half is 1 without rules of its kind, and a row "
        "needs one of the two columns. A row without soft rules asks no judge. No reference answer is read.",
        "16 answers of 32 prompts, 4,096 tokens, the rate and the KL are those of the published script.",
    ),
    deviations=(
        "The paper's text averages over all constraints; its code multiplies, as here. A version of this code has the "
        "hard half 1 or 0, if all hard rules are kept or not; here it is their share, as in the other one.",
        "The code asks its judge about the instruction where a problem has no soft rules; here that half is 1.",
        "The code scores a whole batch -1 when its judge fails; here such answers have no reward.",
    ),
    missing="VerInstruct, the paper's data, and the judge of 7B distilled for it",
)
