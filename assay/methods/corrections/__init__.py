"""Corrections: the sampler's probabilities are not the learner's, and what is done about it."""

METHODS = (
    "tis",
    "icepop",
    "seq_mis",
    "areal",
)
