"""Every group is compared with one more answer, a virtual one that is right."""

from assay.methods.shaping.ngrpo.unsolved import UnsolvedGroups
from assay.methods.shaping.ngrpo.virtual import VirtualBest
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

NGRPO = Recipe(
    name="ngrpo",
    title="NGRPO: Negative-enhanced Group Relative Policy Optimization",
    paper="2509.18851",
    claim="a virtual right answer gives all-wrong groups a gradient: above PPO, GRPO, DAPO and PSR-NSR on MATH500, "
    "AMC23 and AIME2025 with Qwen2.5-Math-7B",
    mechanism=Mechanism(
        curate=(UnsolvedGroups(),),
        credit=VirtualBest(best=1.0, count=1, ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.16, high=0.24), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=1024, group_size=8, max_new=3072, learning_rate=1e-6, num_steps=140, num_minibatches=4),
    notes=(
        "Values are those of the published script; 140 steps are its 20 epochs of the 7,500 problems of MATH.",
        "Groups that are all right are dropped, leave the denominator and are not replaced.",
        "The advantages of a group add up to less than 0, so that the policy is pushed down on the whole and entropy "
        "rises; the narrower lower clip limits that.",
        "With ddof 0 the advantages in an all-wrong group of G would be -1 / sqrt(G), not -1 / sqrt(G + 1).",
    ),
)
