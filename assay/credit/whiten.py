"""Advantage whitening: subtract the mean, divide by the standard deviation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from assay.credit.pack import trains
from assay.errors import ConfigError
from assay.part import Ddof, Shape
from assay.types import Row


def whiten(rows: Sequence[Row], *, by: str, over: str, ddof: int, epsilon: float) -> list[Row]:
    """A <- (A - mean A) / (std A + epsilon) within each set of rows; 0 if all advantages of the set are equal."""
    if by not in ("batch", "tag"):
        raise ConfigError(f"shape.by is 'batch' or 'tag', not '{by}'.")
    if over not in ("tokens", "rows"):
        raise ConfigError(f"shape.over is 'tokens' or 'rows', not '{over}'.")
    result = list(rows)
    for name in dict.fromkeys(_set(row, by) for row in rows):
        mine = [i for i, row in enumerate(rows) if _set(row, by) == name and row.advantage is not None]
        masks = [trains(rows[i]) if rows[i].in_loss else np.zeros(len(rows[i].episode), bool) for i in mine]
        advantages = [np.asarray(rows[i].advantage)[mask] for i, mask in zip(mine, masks, strict=True)]
        advantages = [a.mean(keepdims=True) for a in advantages if len(a)] if over == "rows" else advantages
        values = np.concatenate([np.zeros(0), *advantages])
        alike = len(values) <= ddof or np.ptp(values) <= 1e-9 * max(1.0, float(np.abs(values).max()))
        for i in mine:
            a = np.asarray(rows[i].advantage, dtype=np.float64)
            scaled = np.zeros(len(a)) if alike else (a - values.mean()) / (values.std(ddof=ddof) + epsilon)
            result[i] = rows[i].mark(advantage=scaled)
    return result


class Whiten(Shape):
    """A <- (A - mean A) / (std A + epsilon), with mean and std over the policy's tokens of the batch that train.

    shape=(Whiten(by="batch", over="tokens"),)
    --mechanism.shape whiten --mechanism.shape.0.over tokens
    """

    by: Literal["batch", "tag"] = "batch"  # whiten all rows together, or the rows of each tag by themselves
    over: Literal["tokens", "rows"] = "tokens"  # rows: each answer counts once, with the mean of its tokens
    ddof: Ddof = 1  # the variance divides by the number of tokens or rows less ddof
    epsilon: float = 1e-8  # is added to the std
    does = whiten


def _set(row: Row, by: str) -> str:
    """The name of the set in which the row is whitened."""
    return (row.tag or row.episode.request.tag) if by == "tag" else ""
