"""Aggregation: how the loss of an optimiser step averages over tokens and rows.

Every aggregation is linear, so it is a weight for each token, computed once from the counts of the whole optimiser
step. The loss of a micro-batch is then a weighted sum, and the cut into micro-batches, their order and packing change
nothing.

Notation: row i has T_i tokens that train; the denominator counts B rows and N tokens.
"""

from __future__ import annotations

import numpy as np

from assay.part import Aggregate
from assay.types import Batch


def token_mean(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / N."""
    return np.full(len(batch.ids), 1.0 / max(1, np.count_nonzero(batch.counted)))


class TokenMean(Aggregate):
    """Mean over all tokens of the step, each with the weight 1 / N (DAPO).

    objective=Objective(aggregate=TokenMean())
    --mechanism.objective.aggregate token-mean
    """

    does = token_mean


def sequence_mean(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / (B T_i)."""
    return np.repeat(1.0 / (_rows(batch) * np.maximum(1, _per_row(batch.mask, batch))), batch.lengths)


class SequenceMean(Aggregate):
    """Mean over rows of the mean over tokens: 1 / (B T_i) (GRPO). A token of a long answer weighs less.

    objective=Objective(aggregate=SequenceMean())
    --mechanism.objective.aggregate sequence-mean
    """

    does = sequence_mean


def sequence_sum(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / B."""
    return np.full(len(batch.ids), 1.0 / _rows(batch))


class SequenceSum(Aggregate):
    """Mean over rows of the sum over tokens: 1 / B (REINFORCE, RLOO). The true policy gradient.

    objective=Objective(aggregate=SequenceSum())
    --mechanism.objective.aggregate sequence-sum
    """

    does = sequence_sum


def fixed_length(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / (B L)."""
    return np.full(len(batch.ids), 1.0 / (_rows(batch) * max_new))


class FixedLength(Aggregate):
    """Mean over rows of the sum over tokens divided by a constant: 1 / (B L), L the generation limit (Dr. GRPO).

    objective=Objective(aggregate=FixedLength())
    --mechanism.objective.aggregate fixed-length
    """

    does = fixed_length


def prompt_mean(batch: Batch, *, max_new: int) -> np.ndarray:
    """1 / (P N_g): the denominator has N_g tokens of group g, and rows of P groups."""
    group = batch.group.numbers
    tokens = np.bincount(group, weights=_per_row(batch.counted, batch))
    groups = np.count_nonzero(np.bincount(group, weights=batch.counted_rows))
    return np.repeat(1.0 / (max(1, groups) * np.maximum(1, tokens))[group], batch.lengths)


class PromptMean(Aggregate):
    """Mean over groups of the mean over their tokens: 1 / (P N_g) (DAPO's formula read literally).

    For your own recipes: where each prompt is to weigh the same, however long its answers are.

    objective=Objective(aggregate=PromptMean())
    --mechanism.objective.aggregate prompt-mean
    """

    does = prompt_mean


def delta_l(batch: Batch, *, max_new: int, power: float) -> np.ndarray:
    """T_i^-a / (L sum_j T_j^-a), L the generation limit, j over the rows with tokens in the denominator."""
    weight = np.maximum(1.0, _per_row(batch.mask | batch.counted, batch)) ** -power
    total = weight[_per_row(batch.counted, batch) > 0].sum() or 1.0
    return np.repeat(weight / (max_new * total), batch.lengths)


class DeltaL(Aggregate):
    """Sum over tokens with row weights T_i^-a: at a = 1 the unbiased mean of least variance (Delta L, 2509.07558).

    a = 0 is `fixed-length`. The paper takes 1 for countdown and 0.75 for mathematics.

    For your own recipes: where lengths differ by much and the gradient is too noisy.

        objective=Objective(aggregate=DeltaL(power=0.75))
        --mechanism.objective.aggregate delta-l --mechanism.objective.aggregate.power 0.75
    """

    power: float = 1.0  # a
    does = delta_l


def _per_row(stream: np.ndarray, batch: Batch) -> np.ndarray:
    """The sum of a per-token stream over each row."""
    return np.add.reduceat(np.append(stream, False).astype(np.int64), batch.at[:-1]) * (batch.lengths > 0)


def _rows(batch: Batch) -> int:
    """B, the number of rows in the denominator; at least 1."""
    return max(1, int(np.count_nonzero(batch.counted_rows)))
