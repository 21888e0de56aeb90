"""A prompt that every answer fails is asked again with a hint; the gradient is taken without the hint.

Groups beyond the number that a step trains on train in the next step.
"""

from assay.collect import Refill
from assay.credit import GroupRelative
from assay.curate import MixedGroups
from assay.memory import KeepLeftovers
from assay.methods.exploration.guide.gate import ShapedBy
from assay.methods.exploration.guide.quantile import RatioQuantile
from assay.methods.exploration.guide.retry import HINT, RetryWithHint
from assay.methods.exploration.guide.surplus import TakeTurns
from assay.objective import Case, Clip, Objective, Tagged, TokenMean, TokenRatio
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

GUIDE = Recipe(
    name="guide",
    title="Adaptive Guidance Accelerates Reinforcement Learning of Reasoning Models",
    paper="2506.13923",
    claim="hints for prompts that every answer fails, with the gradient taken without the hint: up to 4% "
    "macro-average over GRPO on mathematics at 7B and 32B",
    missing="hints written by a stronger model that sees the solution, and the measurement that tells compressed "
    "pass@k from gained capability",
    mechanism=Mechanism(
        expand=(RetryWithHint(below=0.001, share=0.5, trained="question"), Refill(max_rounds=10)),
        curate=(MixedGroups(by="accuracy"), TakeTurns()),
        forwards=(RatioQuantile(tag=HINT, quantile=0.9, least=1e-4),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2),
            aggregate=TokenMean(),
            cases=(Case(over=Tagged(HINT), ratio=TokenRatio(), gate=ShapedBy()),),
        ),
        remember=(KeepLeftovers(max_age=1),),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=3072, learning_rate=1e-6, num_steps=500, num_minibatches=2),
    notes=(
        "For rows of the retry the ratio divides pi(y | question) by pi_old(y | question, hint), and is not clipped. "
        "A hinted group replaces the failed one if it is mixed; a hinted group that is all wrong or all right is "
        "dropped.",
        "gamma is one number a step, over trained tokens alone, computed before the first update of the step. The "
        "published code computes it for each micro-batch, and counts padding.",
        "In the paper a stronger model that sees the solution writes the hints. Here the hint is the problem's own, "
        "else the first half of the worked steps, never the last step.",
        "Groups beyond num_prompts wait and train first in the next step, with the log-probs of their sampling as the "
        "old ones. Here the last groups drawn wait. The published code picks them at random, computes their log-probs "
        "anew and has no bound on their age. Since a round draws at most num_prompts, no group waits for two steps "
        "here.",
        "num_steps and max_rounds are ours.",
    ),
)
