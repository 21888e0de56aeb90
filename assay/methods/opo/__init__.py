"""The baseline of least variance, which weighs rewards by the lengths of the answers."""

from assay.methods.opo.credit import LengthWeighted
from assay.objective import NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

OPO = Recipe(
    name="opo",
    title="On-Policy RL with Optimal Reward Baseline",
    paper="2505.23585",
    claim="exact on-policy training and the baseline of least variance: more stable than GRPO, with higher entropy",
    mechanism=Mechanism(
        credit=LengthWeighted(),
        objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=8192, learning_rate=1e-6, num_steps=500),
    notes=(
        "One step a batch, no KL and no entropy bonus, as the authors' code has it (microsoft/LMOps, opo; verl's "
        "estimator `opo`): with several steps it is no longer the method. 8 answers are from memory of the paper, "
        "whose section on the setting was not found; the code ships no script, and the rest of the scale is ours.",
        "The mean over tokens is that of the authors' code in verl; the theory's is the sum over an answer.",
        "The own answer is in the baseline, and lengths count what the policy wrote. Where wrong answers are longer "
        "the baseline is below the mean: right ones gain, and wrong ones lose weight.",
    ),
    deviations=("verl gives a group of one the baseline 0; here it is refused.",),
)
