"""The share of its group that gives the same answer, as the reward of an answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from assay.part import Rewarding
from assay.reward.certainty import FORMS, certainty
from assay.reward.composed import whole
from assay.types import Episode, Reward, by_group
from assay.verifiers.elections import answer_of, shares


def cluster(episodes: Sequence[Episode], *, form: str, apart: float | None) -> list[Reward | None]:
    """The formula of certainty with one term: the cross-entropy - log p_c of the answer and its group."""
    result: list[Reward | None] = [None] * len(episodes)
    for group in by_group(episodes).values():
        parts = shares([answer_of(episode) for episode in group.members])
        differ = max(parts) * len(group.members) <= 1
        for i, share in zip(group.places, parts, strict=True):
            value = certainty(np.array([-math.log(share)]), FORMS[form], vocab=0)
            result[i] = whole("cluster", apart if differ and apart is not None else value)
    return result


class Cluster(Rewarding):
    """p_c, the share of the group that gives the same answer, or its logarithm (EMPO 2504.05812).

    An answer that cannot be read is a cluster of its own.

        reward=(Cluster(form="cluster"),)
        --mechanism.reward cluster --mechanism.reward.0.form log-cluster
    """

    form: Literal["cluster", "log-cluster"] = "cluster"  # p_c, or log p_c
    apart: float | None = None  # the reward of all answers of a group that all differ; None: as elsewhere
    does = cluster
    outcome = True
