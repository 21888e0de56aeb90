"""The limit of answers grows from stage to stage: short answers first, longer ones when the limit begins to bind."""

import dataclasses

from assay.ask import Fewer, Shorter
from assay.credit import GroupRelative
from assay.methods.exploration.deepscaler_len.binding import LimitBinds
from assay.objective import KL, Clip, Entropy, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.scale import Scale

WHOLE = Mechanism(
    credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
    objective=Objective(
        gate=Clip(low=0.2, high=0.2),
        aggregate=TokenMean(),
        regularise=(KL(weight=0.001, estimator="k3"), Entropy(weight=0.001)),
    ),
)


def at(share: float, answers: float) -> Mechanism:
    """The mechanism at this share of the limit, with this share of the answers of a group."""
    return dataclasses.replace(WHOLE, ask=(Fewer(share=answers), Shorter(share=share)))


DEEPSCALER_LEN = Recipe(
    name="deepscaler-len",
    title="DeepScaleR iterative context lengthening",
    paper="DeepScaleR 2025",
    claim="a limit of 8K tokens, then 16K, then 24K: 43.1 on AIME24 with 1.5B parameters, 14.3 above the distilled "
    "model that it starts from, at a small part of the cost of long answers from the start",
    mechanism=WHOLE,
    scale=Scale(
        num_prompts=128,
        group_size=16,
        max_new=24576,
        learning_rate=1e-6,
        num_steps=1750,
        num_minibatches=2,
        temperature=0.6,
    ),
    stages=(
        Stage("8K", share=1040, mechanism=at(1 / 3, 0.5)),
        Stage("16K", share=480, mechanism=at(2 / 3, 1.0), when=LimitBinds(), optimiser="reset"),
        Stage("24K", share=230, when=LimitBinds(), optimiser="reset"),
    ),
    notes=(
        "Limits, answers (8, then 16), mini-batches of 64 prompts, clip, KL penalty, rate and temperature are those of "
        "the released scripts; the entropy bonus of 0.001 is the framework's default at the time. The second stage "
        "began at step 1040 and the third at 1520; the length of the third is ours.",
        "The authors moved on by hand, from the mean length and the share of cut answers. Here a stage begins, at the "
        "latest after its share of the steps, when the share of cut answers is half as high again as at its lowest: "
        "the factor of 1.5 and the 50 steps are ours.",
        "A cut answer is wrong and trains: that is the pressure towards short answers. A filter of overlong answers "
        "takes it away.",
        "Each script starts a run of its own from the last checkpoint, so the optimiser starts anew; optimiser=keep "
        "keeps its state. The first boundary also changes the number of answers.",
        "Log-probs are those at the temperature of sampling. ddof and epsilon are ours.",
    ),
)
