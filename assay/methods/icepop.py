"""Weights of the mismatch as in `tis`, and tokens whose weight leaves a range do not train."""

from assay.objective import Drop
from assay.objective.correct import NOTES
from assay.recipe import Like

ICEPOP = Like(
    "dapo",
    name="icepop",
    changes={"mechanism.objective.correct": (Drop(low=0.5, high=5.0),)},
    title="Every Step Evolves: Scaling Reinforcement Learning for Trillion-Scale Thinking Model",
    paper="2510.18855",
    claim="tokens out on which sampler and learner disagree: no collapse on mixtures of experts of up to a trillion",
    notes=(
        *NOTES,
        "The range of 0.5 to 5 is the one of its authors. A range that masks less and less may hide a gap that grows.",
    ),
    deviations=(
        "OpenRLHF and NeMo-RL keep untruncated weights within the range, as here; a comment there says capped.",
    ),
)
