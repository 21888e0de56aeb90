"""Each of several rewards is normalised within its group before the rewards are added."""

from assay.credit import Whiten
from assay.methods.shaping.gdpo.credit import PerReward
from assay.methods.shaping.gdpo.formatted import Formatted
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

GDPO = Recipe(
    name="gdpo",
    title="GDPO: Group reward-Decoupled Normalization Policy Optimization for Multi-reward RL Optimization",
    paper="2601.05242",
    claim="several rewards, each normalised in its group before they are added, keep apart combinations that GRPO "
    "maps to one advantage: above GRPO in correctness and in kept constraints on tool calling, mathematics and code",
    missing="correctness that is graded from -3 to 3",
    mechanism=Mechanism(
        reward=(Outcome(right=1.0, wrong=0.0), Formatted(readable=1.0, malformed=0.0)),
        credit=PerReward(weights=(), ddof=1, epsilon=1e-6),
        shape=(Whiten(by="batch", over="tokens", ddof=1, epsilon=1e-8),),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=512, group_size=4, max_new=1024, learning_rate=1e-6, num_steps=105, num_minibatches=4),
    notes=(
        "Values are those of the published script for tool calling; 105 steps are its 15 epochs of 4,000 rows.",
        "The rewards here are correctness and format, each 1 or 0; the script grades correctness from -3 to 3.",
        "The last normalisation subtracts the mean of the batch, so that a group whose rewards are all equal may "
        "still get an advantage.",
        "A reward that differs only by noise is scaled up to a deviation of one.",
    ),
    deviations=(
        "The last normalisation runs over tokens, as in the published code for verl, so that long answers weigh more; "
        "in TRL and NeMo-RL it runs over answers (here: over=rows in shape).",
    ),
)
