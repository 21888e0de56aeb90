"""Hints for what every answer fails, with the gradient taken without them; what is too much for a step trains in the
next.
"""

from assay.collect import Refill
from assay.credit import GroupRelative
from assay.curate import MixedGroups
from assay.memory import KeepLeftovers
from assay.methods.guide.gate import ShapedBy
from assay.methods.guide.quantile import RatioQuantile
from assay.methods.guide.retry import HINT, RetryWithHint
from assay.methods.guide.surplus import TakeTurns
from assay.objective import Case, Clip, Objective, Tagged, TokenMean, TokenRatio
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

GUIDE = Recipe(
    name="guide",
    title="Adaptive Guidance Accelerates Reinforcement Learning of Reasoning Models",
    paper="2506.13923",
    claim="hints for problems that every answer fails, with the gradient taken without the hint: up to 4% "
    "macro-average over GRPO on mathematics at 7B and 32B",
    missing="hints written by a stronger model that sees the solution, and the measurement that tells "
    "compressed pass@k from gained capability",
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
        "Rows of the retry: denominator under question and hint, numerator under the question, no clip. A hinted group "
        "stands in for the failed one if it is mixed; what is all wrong with the hint, or all right, is dropped.",
        "gamma is one number a step, over trained tokens alone; the published code takes it per micro-batch, over "
        "padding too. It is read before the first of the step's updates.",
        "The paper's hints are written by a stronger model that sees the solution. Here: the problem's hint, else the "
        "first half of its worked steps, never the last.",
        "Groups beyond num_prompts wait and train first in the next step, against the log-probs with which they were "
        "sampled. Here they are the last that were drawn; the published code picks at random, takes the log-probs anew "
        "and has no bound on the age. As a round draws no more than num_prompts, none here waits for two steps.",
        "num_steps and max_rounds are ours.",
    ),
)
