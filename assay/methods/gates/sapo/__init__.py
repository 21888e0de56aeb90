"""A sigmoid replaces the clip, steeper for tokens with a negative advantage."""

from assay.credit import GroupRelative
from assay.methods.gates.sapo.gate import Soft
from assay.objective import Objective, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

SAPO = Recipe(
    name="sapo",
    title="Soft Adaptive Policy Optimization",
    paper="2511.20347",
    claim="a sigmoid in place of the clip, steeper for negative advantages: more stable than GSPO and GRPO, and "
    "better at equal compute, on a mixture of experts of 30B",
    mechanism=Mechanism(
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Soft(up=1.0, down=1.05), aggregate=SequenceMean()),
    ),
    scale=Scale(num_prompts=256, group_size=16, max_new=8192, learning_rate=1e-6, num_steps=500, num_minibatches=8),
    notes=(
        "Both temperatures are the paper's; the scale is that of verl's script for Qwen3-30B-A3B; num_steps is ours.",
        "The gate is 1 at a ratio of 1, whatever tau is. As the ratio grows, the gate first rises, with tau = 1 to "
        "1.57 at a ratio of 2.06, and then falls. A tau near 2 / epsilon imitates a clip of epsilon; that rule is "
        "ours.",
        "The value of the loss has an offset of 2 / tau; only its gradient means something.",
    ),
    deviations=("AReaL does not allow the method together with the decoupled loss.",),
)
