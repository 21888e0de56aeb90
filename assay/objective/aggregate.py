"""Aggregation: the weight of each token in the loss of one optimiser step.

Every operator is linear, so it is a weight per token, worked out once from the counts of the whole optimiser step. The
loss of any part of the batch is then a plain weighted sum, and micro-batches, order and packing cannot change it.

Notation: row i has T_i trainable tokens; B rows and N trainable tokens are in the denominator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.part import Aggregate
from assay.types import Batch


def token_mean(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / N."""
    return np.full(len(batch.ids), 1.0 / max(1, np.count_nonzero(batch.counted)))


@dataclass(frozen=True)
class TokenMean(Aggregate):
    """Every token of the step weighs the same: 1 / N (DAPO)."""

    does = token_mean


def sequence_mean(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / (B T_i)."""
    return np.repeat(1.0 / (_rows(batch) * np.maximum(1, _per_row(batch.mask, batch))), batch.lengths)


@dataclass(frozen=True)
class SequenceMean(Aggregate):
    """Mean over rows of the mean over tokens: 1 / (B T_i) (GRPO). Long answers weigh less per token."""

    does = sequence_mean


def sequence_sum(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / B."""
    return np.full(len(batch.ids), 1.0 / _rows(batch))


@dataclass(frozen=True)
class SequenceSum(Aggregate):
    """Mean over rows of the sum over tokens: 1 / B (REINFORCE, RLOO). The true policy gradient."""

    does = sequence_sum


def fixed_length(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / (B L)."""
    return np.full(len(batch.ids), 1.0 / (_rows(batch) * max_new))


@dataclass(frozen=True)
class FixedLength(Aggregate):
    """Sum over tokens by a constant length: 1 / (B L), L the generation limit of the run (Dr. GRPO)."""

    does = fixed_length


def prompt_mean(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / (P N_g), N_g the tokens of group g in the denominator; P counts the groups that have a row in it."""
    names, group = np.unique(batch.group, return_inverse=True)
    tokens = np.bincount(group, weights=_per_row(batch.counted, batch), minlength=len(names))
    groups = np.count_nonzero(np.bincount(group, weights=batch.counted_rows, minlength=len(names)))
    return np.repeat(1.0 / (max(1, groups) * np.maximum(1, tokens))[group], batch.lengths)


@dataclass(frozen=True)
class PromptMean(Aggregate):
    """Mean over groups of the mean over their tokens: 1 / (P N_g) (DAPO's formula read literally)."""

    does = prompt_mean


def delta_l(batch: Batch, *, max_new: int, power: float) -> np.ndarray:
    """T_i^-a / (L sum_j T_j^-a), L the generation limit, j the rows of the denominator that have a token."""
    weight = np.maximum(1.0, _per_row(batch.mask | batch.counted, batch)) ** -power
    total = weight[_per_row(batch.counted, batch) > 0].sum() or 1.0
    return np.repeat(weight / (max_new * total), batch.lengths)


@dataclass(frozen=True)
class DeltaL(Aggregate):
    """Sum over tokens, rows weighed by T^-a: the least variance among unbiased means at a = 1 (2509.07558).

    a = 0 is the fixed length. The paper takes 1 for countdown and 0.75 for mathematics.
    """

    power: float = 1.0  # a
    does = delta_l


def _per_row(stream: np.ndarray, batch: Batch) -> np.ndarray:
    """Sums of a token stream, row by row."""
    return np.add.reduceat(np.append(stream, False).astype(np.int64), batch.at[:-1]) * (batch.lengths > 0)


def _rows(batch: Batch) -> int:
    return max(1, int(np.count_nonzero(batch.counted_rows)))
