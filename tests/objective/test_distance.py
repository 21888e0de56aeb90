"""The divergence from the policy before the step, for a policy that has not moved."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tiny import group_of, pushes

from assay.objective import KL, Objective, Open
from assay.types import Row


@pytest.mark.parametrize("written", [0, 3])
def test_rounding_has_no_slope_before_the_policy_has_moved(written: int) -> None:
    """Log-probs of the step's beginning and of now, by the same weights, differ by 1e-7 where passes add up in another
    order. What another version wrote has moved however little, by as much.
    """
    rows = [row.mark(advantage=np.full(2, a)) for row, a in zip(group_of([1.0, 0.0]), (1.0, -1.0), strict=True)]
    rows = [_by(row.mark(old=np.array([-1.0, -1.0 + 1e-7], np.float32)), written) for row in rows]
    term = KL(weight=1.0, estimator="distance", anchor="old")
    plain, held = (Objective(gate=Open(), regularise=parts) for parts in ((), (term,)))
    logp = {row.episode.request.id: [-1.0 + 1e-7, -1.0] for row in rows}
    gap = np.abs(np.array(pushes(held, rows, logp)) - np.array(pushes(plain, rows, logp)))
    assert (gap.max() < 1e-12) if written == 0 else (gap.max() > 0.1)


def _by(row: Row, version: int) -> Row:
    segments = tuple(dataclasses.replace(segment, version=version) for segment in row.episode.segments)
    return row.mark(episode=dataclasses.replace(row.episode, segments=segments))
