"""The exact off-policy gradient of the reward minus a KL divergence, as a loss or as a weighted likelihood.

There are four divergences from the old policy, and each has both forms.
"""

from assay.collect import Refill
from assay.credit import GroupRelative
from assay.methods.losses.rpg.losses import Divergence, OldKL, RegularisedReinforce
from assay.objective import Clip, NoRatio, Objective, Open, TokenMean
from assay.recipe import Like
from assay.reward import Outcome, SoftOverlong

CHANGES = {
    "mechanism.expand": (Refill(max_rounds=20),),
    "mechanism.reward": (Outcome(right=1.0, wrong=-1.0), SoftOverlong(buffer=512, factor=1.0)),
    "mechanism.credit": GroupRelative(scale="none"),
    "scale.max_new": 2048,
}
NOTES = (
    "The old policy is the reference: the policy before the step, renewed at every step. Ratios are those of tokens.",
    "The formulas are those of the paper's table of gradients. Clips, batch, rates (half as large for the weighted "
    "likelihood), weight, lengths, token mean, dynamic sampling and soft overlong penalty are those of the released "
    "scripts for 7B; those for the instruct model clip at 0.1 on both sides. The scripts go through the data twice; "
    "num_steps is ours.",
    "A token of advantage 0 is not clipped.",
)
HELD = "The released code clamps the divergence to [-10, 10], so that it has no gradient beyond."
NEVER_CALLED = (
    "The released code never calls its weighted-likelihood loss. These variants of it run PPO with the divergence "
    "between two equal policies as a reward, which acts as a bonus or a penalty for length."
)


def _variant(divergence: Divergence, says: str) -> tuple[Like, Like]:
    name, title = f"rpg-{divergence}", "On the Design of KL-Regularized Policy Gradient Algorithms for LLM Reasoning"
    both = {"title": title, "paper": "2505.17508", "notes": NOTES}
    term = OldKL(weight=1e-4, divergence=divergence)
    through = Objective(gate=Clip(low=0.2, high=0.28, dual=10.0), aggregate=TokenMean(), regularise=(term,))
    whole = RegularisedReinforce(1e-4, divergence, low=0.2, high=0.28, dual=10.0)
    likelihood = Objective(whole=whole, ratio=NoRatio(), gate=Open(), aggregate=TokenMean())
    claim = f"the exact off-policy gradient of the reward minus {says} is stable: on a par with GRPO and DAPO or better"
    return (
        Like(
            "dapo",
            name=name,
            claim=f"{claim}, differentiated through the ratio",
            changes={**CHANGES, "mechanism.objective": through},
            deviations=(HELD,),
            **both,
        ),
        Like(
            "dapo",
            name=f"{name}-reinforce",
            claim=f"{claim}, as a weighted likelihood",
            changes={**CHANGES, "mechanism.objective": likelihood, "scale.learning_rate": 5e-7},
            deviations=(NEVER_CALLED,),
            **both,
        ),
    )


RPG = (
    *_variant("fkl", "KL(old, policy)"),
    *_variant("ufkl", "the unnormalised KL(old, policy)"),
    *_variant("rkl", "KL(policy, old)"),
    *_variant("urkl", "the unnormalised KL(policy, old)"),
)
