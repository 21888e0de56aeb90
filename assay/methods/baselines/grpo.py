"""The mean and the standard deviation of a group's rewards replace the critic."""

from assay.credit import GroupRelative
from assay.objective import KL, Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

GRPO = Recipe(
    name="grpo",
    title="DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models",
    paper="2402.03300",
    claim="a group's mean and standard deviation replace the critic; GSM8K 88.2 and MATH 51.7 from 82.9 and 46.8",
    missing="rewards of single steps (process supervision), rounds with a retrained reward model, and the report's "
    "pre-training",
    mechanism=Mechanism(
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2), aggregate=SequenceMean(), regularise=(KL(weight=0.04, estimator="k3"),)
        ),
    ),
    scale=Scale(num_prompts=16, group_size=64, max_new=1024, learning_rate=1e-6, num_steps=500),
    notes=(
        "Three losses go by this name: the paper's mean over each answer (here), the mean over all tokens (dapo), and "
        "the division by a constant length (dr-grpo).",
        "The paper does not state ddof or epsilon; 1 and 1e-6 are those of the common implementations.",
        "num_steps is ours.",
    ),
    deviations=(
        "Some implementations group by the text of the prompt, so that two draws of one problem are one group; here "
        "each draw is a group of its own.",
        "NeMo-RL's default baseline is leave-one-out.",
    ),
)
