"""Only right answers train (`psr`), only wrong ones (`nsr`), or right ones at a tenth (`w-reinforce`)."""

import dataclasses

from assay.methods.shaping.psr.one_sided import OneSided
from assay.methods.shaping.psr.signed import Signed
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

POSITIVE = Mechanism(
    reward=(Outcome(right=1.0, wrong=-1.0),),
    curate=(OneSided(keep="right"),),
    credit=Signed(right=1.0, wrong=-1.0),
    objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
)

PSR = Recipe(
    name="psr",
    title="The Surprising Effectiveness of Negative Reinforcement in LLM Reasoning",
    paper="2506.01347",
    claim="learning from right answers alone raises pass@1 and lowers pass@k for large k",
    missing="the analysis of the gradients of right and of wrong answers: their norms and their angle",
    mechanism=POSITIVE,
    scale=Scale(num_prompts=1024, group_size=8, max_new=3072, learning_rate=1e-6, num_steps=140, num_minibatches=4),
    notes=(
        "Values are those of the published script; 140 steps are its 20 epochs of the 7,500 problems of MATH.",
        "Wrong answers are removed from the batch: the mean over tokens runs over the right answers alone.",
        "There is no baseline and no normalisation. The verdict says whether an answer is right.",
    ),
)

NSR = dataclasses.replace(
    PSR,
    name="nsr",
    missing="",
    claim="learning from wrong answers alone lifts the whole pass@k curve up to k = 256, often above PPO and GRPO",
    mechanism=dataclasses.replace(POSITIVE, curate=(OneSided(keep="wrong"),)),
    notes=(
        *PSR.notes[:1],
        "Right answers are removed from the batch: on easy problems few tokens make a whole step.",
        "If most answers are wrong, the gradient only pushes away without a target and the policy falls apart; the "
        "paper starts near a pass rate of one half.",
    ),
)

W_REINFORCE = dataclasses.replace(
    PSR,
    name="w-reinforce",
    missing="",
    claim="right answers at a tenth of the weight of wrong ones: best over all k on MATH, AIME 2025 and AMC23",
    mechanism=dataclasses.replace(POSITIVE, curate=(), credit=Signed(right=0.1, wrong=-1.0)),
    notes=(*PSR.notes[:1], "All answers stay in the denominator.", *PSR.notes[2:]),
)
