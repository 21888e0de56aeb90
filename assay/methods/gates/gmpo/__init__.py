"""An answer is weighted by the geometric mean of its clipped token ratios."""

from assay.credit import GroupRelative
from assay.methods.gates.gmpo.gate import Geometric
from assay.objective import Objective, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

GMPO = Recipe(
    name="gmpo",
    title="Geometric-Mean Policy Optimization",
    paper="2507.20673",
    claim="the geometric mean of clipped token ratios is less sensitive to outliers, so that the clip can be wide: "
    "4.1 points above GRPO on mathematics with 7B, 1.4 on multimodal reasoning",
    mechanism=Mechanism(
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Geometric(low=0.4, high=0.4), aggregate=SequenceMean()),
    ),
    scale=Scale(num_prompts=1024, group_size=5, max_new=1024, learning_rate=1e-6, num_steps=500, num_minibatches=4),
    notes=(
        "Clip and scale are those of the authors' script in verl; num_steps is ours.",
        "The bound of 0.4 is on the log-ratio: ratios between exp(-0.4) and exp(0.4) are free. Each ratio is clipped "
        "before the mean, on the side that the sign of the advantage names; a clipped token has no gradient, but its "
        "bound counts in the mean.",
        "The method needs one advantage an answer, and a mean over answers.",
    ),
    deviations=(
        "A public copy clamps the log-ratio to [1 - epsilon, 1 + epsilon], which are bounds for a ratio, not for its "
        "logarithm.",
        "verl uses its general clip of 0.2 as the bound on the log-ratio unless 0.4 is set.",
    ),
)
