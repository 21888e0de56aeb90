"""Importance weights of the sampler's mismatch as in `tis`; a token whose weight leaves a range is masked."""

from assay.objective import Drop
from assay.objective.correct import NOTES
from assay.recipe import Like

ICEPOP = Like(
    "dapo",
    name="icepop",
    changes={"mechanism.objective.correct": (Drop(low=0.5, high=5.0),)},
    title="Every Step Evolves: Scaling Reinforcement Learning for Trillion-Scale Thinking Model",
    paper="2510.18855",
    claim="masking the tokens on which sampler and learner disagree: no collapse on mixtures of experts of up to a "
    "trillion parameters",
    notes=(
        *NOTES,
        "The range of 0.5 to 5 is the authors'. A mask that drops ever fewer tokens may hide a mismatch that grows.",
    ),
    deviations=(
        "OpenRLHF and NeMo-RL leave weights within the range as they are, as here; a comment there says that they are "
        "capped.",
    ),
)
