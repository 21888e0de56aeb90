"""Aggregation: the weight of each token in the loss of one optimiser step.

Every operator is linear, so it is a weight per token, worked out once from the counts of the whole optimiser step. The
loss of any part of the batch is then a plain weighted sum, and micro-batches, order and packing cannot change it.

Notation: row i has T_i trainable tokens; B rows and N trainable tokens are in the denominator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.part import Part
from assay.types import Batch


@dataclass(frozen=True)
class TokenMean(Part):
    """Every token of the step weighs the same: 1 / N (DAPO)."""


def token_mean(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / N."""
    return np.full(len(batch.ids), 1.0 / max(1, np.count_nonzero(batch.counted)))


@dataclass(frozen=True)
class SequenceMean(Part):
    """Mean over rows of the mean over tokens: 1 / (B T_i) (GRPO). Long answers weigh less per token."""


def sequence_mean(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / (B T_i)."""
    trained = np.add.reduceat(np.append(batch.mask, False), batch.at[:-1]) * (batch.lengths > 0)
    return np.repeat(1.0 / (_rows(batch) * np.maximum(1, trained)), batch.lengths)


@dataclass(frozen=True)
class SequenceSum(Part):
    """Mean over rows of the sum over tokens: 1 / B (REINFORCE, RLOO). The true policy gradient."""


def sequence_sum(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / B."""
    return np.full(len(batch.ids), 1.0 / _rows(batch))


@dataclass(frozen=True)
class FixedLength(Part):
    """Sum over tokens by a constant length: 1 / (B L), L the generation limit of the run (Dr. GRPO)."""


def fixed_length(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / (B L)."""
    return np.full(len(batch.ids), 1.0 / (_rows(batch) * max_new))


def _rows(batch: Batch) -> int:
    return max(1, int(np.count_nonzero(batch.counted_rows)))


AGGREGATES = {
    "token-mean": (TokenMean, token_mean),
    "sequence-mean": (SequenceMean, sequence_mean),
    "sequence-sum": (SequenceSum, sequence_sum),
    "fixed-length": (FixedLength, fixed_length),
}
