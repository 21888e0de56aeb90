"""Of several rewards each is normalised in its group before they are added."""

from assay.credit import Whiten
from assay.methods.gdpo.credit import PerReward
from assay.methods.gdpo.formatted import Formatted
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

GDPO = Recipe(
    name="gdpo",
    title="GDPO: Group reward-Decoupled Normalization Policy Optimization for Multi-reward RL Optimization",
    paper="2601.05242",
    claim="several rewards, each normalised in its group before they are added, keep apart what GRPO puts together: "
    "above it in correctness and in constraints kept on tool calling, mathematics and code",
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
        "Rewards here are correctness and format, 1 or 0 each; there correctness is graded from -3 to 3.",
        "It shifts by the mean: a group without differences gets a push of its own.",
        "A reward that differs by noise alone is blown up to unit deviation.",
    ),
    deviations=(
        "The last normalisation runs over tokens, as in the published code for verl, so that long answers weigh more; "
        "TRL and NeMo-RL have it over answers (shape over=rows).",
    ),
)
