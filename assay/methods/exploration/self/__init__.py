"""Only problems that the greedy answer fails are trained on."""

from assay.credit import GroupRelative
from assay.curate import WithoutTag
from assay.methods.exploration.self.probe import PROBE, AfterFailure, GreedyProbe
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

SELF = Recipe(
    name="self",
    title="The Reasoning Boundary Paradox: How Reinforcement Learning Constrains Language Models",
    paper="2510.02230",
    claim="RL on problems that greedy decoding solves makes others harder; without these problems pass@k for large k "
    "rises above that of usual RL, on several mathematics benchmarks",
    missing="the measurements of interference: how an update on one problem changes the likelihood of solutions to "
    "others, and how the gain of a problem goes with its pass rate before training",
    mechanism=Mechanism(
        ask=(GreedyProbe(),),
        expand=(AfterFailure(),),
        curate=(WithoutTag(PROBE),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=3072, learning_rate=1e-6, num_steps=500, num_minibatches=2),
    notes=(
        "Problems, answers, mini-batches of 64, length, rate, steps, no KL penalty and no entropy bonus are those of "
        "the released scripts; ddof and epsilon are ours.",
        "The greedy answer is an answer of its own: it costs tokens, never trains, and is in no pass rate. A step in "
        "which every greedy answer is right trains on nothing, as in the release.",
        "The step trains on fewer problems as the policy learns: compare at equal tokens, and with a random drop of "
        "as many problems.",
        "The name suggests a forward KL, which the released trainer does not contain; nor does this recipe.",
    ),
    deviations=(
        "The release repeats problems until their number divides among its devices, so that some count twice.",
    ),
)
