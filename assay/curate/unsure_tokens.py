"""Only tokens that were improbable when they were sampled train."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from assay.part import Curator, PositiveProportion
from assay.types import Episode, Origin, Row


def unsure(episode: Episode, below: float) -> np.ndarray:
    """1[pi_old(y_t) < `below`] for each token that the policy wrote, else 0."""
    return (episode.stream("origin") == Origin.POLICY) & (episode.stream("old") < math.log(below))


def unsure_tokens(rows: Sequence[Row], *, below: float) -> list[Row]:
    """keep_t = 1[pi_old(y_t) < `below`] (2505.23564). A token that others wrote has no probability and is not kept."""
    kept = [unsure(row.episode, below) for row in rows]
    return [row.mark(keep=k if row.keep is None else k & row.keep) for row, k in zip(rows, kept, strict=True)]


class UnsureTokens(Curator):
    """Only tokens that the policy gave a probability under `below` train and count (the probability mask of SPO
    2505.23564).

        curate=(UnsureTokens(below=0.9),)
        --mechanism.curate unsure-tokens --mechanism.curate.0.below 0.9
    """

    writes = ("rows",)

    below: PositiveProportion = 0.9  # 1: all tokens that the policy wrote, but those of which it was certain
    does = unsure_tokens
