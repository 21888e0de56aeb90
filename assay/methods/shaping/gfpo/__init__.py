"""Many answers are sampled and few train: the shortest, or those with the most reward a token.

`gfpo-efficiency` selects by reward a token, and `gfpo-adaptive` keeps fewer answers of easier prompts.
"""

import dataclasses

from assay.credit import GroupRelative
from assay.methods.shaping.gfpo.difficulty import TrackDifficulty
from assay.methods.shaping.gfpo.filtered import Filtered, FilteredByDifficulty
from assay.objective import Clip, Entropy, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

SHORTEST = Mechanism(
    reward=(Outcome(right=1.0, wrong=-1.0),),
    curate=(Filtered(keep=8, by="length"),),
    credit=GroupRelative(scale="std", ddof=0, epsilon=1e-6),
    objective=Objective(
        gate=Clip(low=0.2, high=0.2, dual=10.0), aggregate=TokenMean(), regularise=(Entropy(weight=0.001),)
    ),
)

GFPO = Recipe(
    name="gfpo",
    title="Sample More to Think Less: Group Filtered Policy Optimization for Concise Reasoning",
    paper="2508.09726",
    claim="training on the shortest 8 of 24 answers takes back 52 to 59% of the length that GRPO added, without a "
    "measurable loss of accuracy",
    missing="rewards that fall with length and repetition",
    mechanism=SHORTEST,
    scale=Scale(num_prompts=64, group_size=24, max_new=31744, learning_rate=1e-7, num_steps=100, warmup_steps=10),
    notes=(
        "Values are those of the paper's text, for Phi-4-reasoning with 14B parameters: at most 8 answers of a group "
        "are kept.",
        "The standard deviation is that of the kept answers, with ddof 0; epsilon is ours.",
        "The paper has a KL term of weight 0.001 (section 4) to the policy that sampled (equation 2). With one update "
        "a rollout, as here, that term and its gradient are 0, so it is left out. verl, with which the paper trains, "
        "has its KL term to the initial policy; the paper does not say which of the two it used.",
        "The clip of 0.2 and the dual clip of 10 replace the authors' own bound on large ratios at A < 0.",
        "The paper's rewards fall with length and repetition; here rewards are 1 and -1.",
        "The shortest answers are kept, right or wrong: in a hard group all kept answers may be wrong.",
    ),
    deviations=(
        "Dropped answers stay in the denominator, as in the paper's formula. TRL's former trainer removed them from "
        "the batch, which makes the step larger by G / k, and used ddof 1.",
    ),
)

GFPO_EFFICIENCY = dataclasses.replace(
    GFPO,
    name="gfpo-efficiency",
    claim="training on the 8 of 16 answers with the most reward a token takes back 71 to 85% of the length that GRPO "
    "added",
    mechanism=dataclasses.replace(SHORTEST, curate=(Filtered(keep=8, by="reward-per-token"),)),
    scale=dataclasses.replace(GFPO.scale, group_size=16),
    notes=(*GFPO.notes[:5], "Of wrong answers, worth -1, the longest lose least a token and come first."),
)

GFPO_ADAPTIVE = dataclasses.replace(
    GFPO,
    name="gfpo-adaptive",
    claim="keeping 4 answers of easy groups, 6 of middling and 8 of hard ones takes back 35 to 53% of the length",
    mechanism=dataclasses.replace(
        SHORTEST,
        curate=(FilteredByDifficulty(hard=8, medium=6, easy=4, by="length", warmup=10),),
        remember=(TrackDifficulty(),),
    ),
    scale=dataclasses.replace(GFPO.scale, group_size=16),
    notes=(
        *GFPO.notes,
        "Quartiles are taken over all groups so far, exact to a thousandth of a reward; the paper approximates them "
        "by a t-digest.",
    ),
)
