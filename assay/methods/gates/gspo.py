"""Ratio and clip are those of whole answers, normalised by length."""

import dataclasses

from assay.credit import GroupRelative
from assay.objective import Clip, Objective, SequenceMean, SequenceRatio
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

GSPO = Recipe(
    name="gspo",
    title="Group Sequence Policy Optimization",
    paper="2507.18071",
    claim="ratio and clip of whole answers, since rewards are given to whole answers: stable training of a mixture of "
    "experts without routing replay, and more efficient than GRPO at equal compute",
    mechanism=Mechanism(
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(ratio=SequenceRatio(of="mean"), gate=Clip(low=3e-4, high=4e-4), aggregate=SequenceMean()),
    ),
    scale=Scale(
        num_prompts=512,
        group_size=16,
        max_new=8192,
        learning_rate=1e-6,
        num_steps=500,
        num_minibatches=4,
        weight_decay=0.1,
        warmup_steps=100,
    ),
    notes=(
        "The clip and 4 mini-batches are the paper's. The rest of the scale is that of verl's script for the method, "
        "warm-up of 5 % included. The paper states no ddof.",
        "The clip is made for long answers, because the spread of the mean log-ratio falls with the root of the "
        "length. It would clip nearly all answers of some 50 tokens; for those 3e-3 to 3e-2 clip the share that the "
        "paper sees, some 15 %: `--mechanism.objective.gate.low 0.01 --mechanism.objective.gate.high 0.013`.",
        "An answer is clipped or kept as a whole. Its ratio defines a trust region; it is not the importance weight "
        "of the answer.",
        "The method needs a mean over answers: a mean over tokens would weigh each answer by its length as well.",
    ),
    deviations=(
        "OpenRLHF, with its correction of the mismatch on, divides by the sampler's log-probs, and leaves the "
        "correction out.",
        "NeMo-RL corrects the mismatch of an answer by the product of its tokens' ratios, while the clip uses their "
        "geometric mean.",
    ),
)

GSPO_TOKEN = dataclasses.replace(
    GSPO,
    name="gspo-token",
    claim="the same value and, with one advantage an answer, the same gradient as GSPO, but advantages of tokens are "
    "possible",
    notes=(
        *GSPO.notes,
        "The ratio is sg[s] pi / sg[pi]: its value is s, its gradient that of each token's own probability. So every "
        "token gets s A_t on log pi, clipped by the sign of A_t, which is what `gspo` computes here too. The two "
        "differ where a part of `shape` or `credit` gives the tokens of an answer different advantages.",
    ),
)
