"""Four divergences, each as a loss that is differentiated and as a weighted likelihood."""

import dataclasses

from assay.collect import Refill
from assay.credit import GroupRelative
from assay.objective import Clip, NoRatio, Objective, OldKL, Open, RegularisedReinforce, TokenMean
from assay.objective.regularised import Divergence
from assay.recipe import Mechanism, Recipe
from assay.recipes.dapo import DAPO
from assay.reward import Outcome, SoftOverlong

MECHANISM = dataclasses.replace(
    DAPO.mechanism,
    expand=(Refill(max_rounds=20),),
    reward=(Outcome(right=1.0, wrong=-1.0), SoftOverlong(buffer=512, factor=1.0)),
    credit=GroupRelative(scale="none"),
)
NOTES = (
    "The reference is the policy before the step, anew at every step. Ratios are those of tokens.",
    "From the table of the paper's gradients. Clips, batch, rates (half as large for the weighted likelihood), weight, "
    "lengths, token mean, dynamic sampling and soft overlong punishment are those of the released scripts for 7B; "
    "those for the instruct model clip at 0.1 on both sides. The scripts go through the data twice; num_steps is ours.",
    "A token of advantage 0 is not clipped.",
)
HELD = "The released code holds the divergence in [-10, 10], which stops its gradient beyond."
NEVER_CALLED = (
    "The released code never calls its weighted-likelihood loss: these variants run PPO with the divergence between "
    "two equal policies as a reward, a bonus or a malus for length."
)


def _variant(divergence: Divergence, says: str) -> tuple[Recipe, Recipe]:
    scale = dataclasses.replace(DAPO.scale, max_new=2048)
    name, title = f"rpg-{divergence}", "On the Design of KL-Regularized Policy Gradient Algorithms for LLM Reasoning"
    both = {"title": title, "paper": "2505.17508", "notes": NOTES}
    term = OldKL(weight=1e-4, divergence=divergence)
    through = Objective(gate=Clip(low=0.2, high=0.28, dual=10.0), aggregate=TokenMean(), regularise=(term,))
    whole = RegularisedReinforce(1e-4, divergence, low=0.2, high=0.28, dual=10.0)
    likelihood = Objective(whole=whole, ratio=NoRatio(), gate=Open(), aggregate=TokenMean())
    claim = f"the exact gradient off policy of the reward less {says} is stable: on a par with GRPO and DAPO or better"
    through_claim, likelihood_claim = f"{claim}, differentiated through the ratio", f"{claim}, as a weighted likelihood"
    half = dataclasses.replace(scale, learning_rate=5e-7)
    return (
        Recipe(name=name, claim=through_claim, mechanism=_with(through), scale=scale, deviations=(HELD,), **both),
        Recipe(
            name=f"{name}-reinforce",
            claim=likelihood_claim,
            mechanism=_with(likelihood),
            scale=half,
            deviations=(NEVER_CALLED,),
            **both,
        ),
    )


def _with(objective: Objective) -> Mechanism:
    return dataclasses.replace(MECHANISM, objective=objective)


RPG = (
    *_variant("fkl", "KL(old, policy)"),
    *_variant("ufkl", "the unnormalised KL(old, policy)"),
    *_variant("rkl", "KL(policy, old)"),
    *_variant("urkl", "the unnormalised KL(policy, old)"),
)
