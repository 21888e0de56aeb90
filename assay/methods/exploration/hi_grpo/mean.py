"""The loss of each turn is a mean over its own tokens."""

from __future__ import annotations

import numpy as np

from assay.methods.exploration.hi_grpo.turns import turns_of
from assay.part import Aggregate
from assay.types import Batch


def turn_mean(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / N_l for a token of turn l, where N_l is the number of its tokens in the denominator."""
    ends = zip(batch.at[:-1], batch.at[1:], strict=True)
    turns = np.concatenate([np.zeros(0, np.int64), *(turns_of(batch.origin[begin:end]) for begin, end in ends)])
    counts = np.bincount(turns, weights=batch.counted, minlength=1)
    return 1.0 / np.maximum(1.0, counts)[turns]


class TurnMean(Aggregate):
    """The sum over turns of the mean over the tokens of a turn (Hi-GRPO 2512.10949): a long turn weighs as much as a
    short one. Answers without replies of an environment have one turn, and this is `token-mean`.
    """

    does = turn_mean
