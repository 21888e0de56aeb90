"""The baseline of least variance: the group's mean reward, weighted by the lengths of the answers."""

from assay.methods.baselines.opo.credit import LengthWeighted
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
        "One update a batch, no KL penalty and no entropy bonus, as in the authors' code (microsoft/LMOps, opo; "
        "verl's estimator `opo`): with several updates the training is no longer on policy, which the method demands. "
        "8 answers are from memory of the paper, whose section on the setting we did not find; the code ships no "
        "script, and the rest of the scale is ours.",
        "The mean over tokens is that of the authors' code in verl; the theory has the sum over an answer.",
        "The answer itself counts in its baseline, and lengths count the tokens that the policy wrote. If wrong "
        "answers are longer than right ones, the baseline is below the mean: right answers gain weight and wrong ones "
        "lose it.",
    ),
    deviations=("verl gives a group of one the baseline 0; here such a group is refused.",),
)
