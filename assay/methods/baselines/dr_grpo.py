"""GRPO without two divisions: by the standard deviation of the group and by the length of the answer."""

from assay.credit import GroupRelative
from assay.objective import Clip, FixedLength, Objective
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

DR_GRPO = Recipe(
    name="dr-grpo",
    title="Understanding R1-Zero-Like Training: A Critical Perspective",
    paper="2503.20783",
    claim="without the division by length and by standard deviation, wrong answers stop growing longer, at equal "
    "accuracy",
    mechanism=Mechanism(
        credit=GroupRelative(scale="none"),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=FixedLength()),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=3000, learning_rate=1e-6, num_steps=500),
    notes=(
        "The constant that replaces the length is the generation limit of the run, never the padded width of a "
        "micro-batch.",
        "Gradients are smaller than with a token mean, by a factor of about mean length / limit.",
    ),
    deviations=(
        "Older verl divides the sum over rows by the length alone, not by the number of rows; newer verl divides by "
        "loss_scale_factor, which is the padded width unless set. ROLL divides by the padded width.",
        "TRL divides by the rows of a micro-batch, which is right if all micro-batches have equally many rows.",
    ),
)
