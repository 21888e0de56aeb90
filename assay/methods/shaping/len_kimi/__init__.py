"""An answer earns a reward for being shorter than the others of its group."""

import dataclasses

from assay.credit import GroupRelative
from assay.methods.shaping.len_kimi.reward import Shortness
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import Outcome
from assay.scale import Scale

PLAIN = Mechanism(
    reward=(Outcome(right=1.0, wrong=0.0),),
    credit=GroupRelative(scale="none"),
    objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
)
SHORTER = dataclasses.replace(PLAIN, reward=(Outcome(right=1.0, wrong=0.0), Shortness(weight=1.0)))

LEN_KIMI = Recipe(
    name="len-kimi",
    title="Kimi k1.5: Scaling Reinforcement Learning with LLMs",
    paper="2501.12599",
    claim="a reward for being shorter than the other answers, after a first stage without it, makes short thinking "
    "reach 60.8 on AIME with 3,272 tokens on average",
    mechanism=SHORTER,
    scale=Scale(num_prompts=128, group_size=8, max_new=8192, learning_rate=1e-6, num_steps=500),
    stages=(Stage("free", share=0.2, mechanism=PLAIN), Stage("short", share=0.8)),
    notes=(
        "The length reward and the first stage without it are the report's; weight, shares and the whole scale are "
        "ours.",
        "The group's mean is the baseline, as in the report. The report's penalty on squared log-ratios to the last "
        "policy is not part of this recipe; a clip replaces it.",
        "A short wrong answer gains nothing: the length reward of a wrong answer is never positive.",
    ),
)
