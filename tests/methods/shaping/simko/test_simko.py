"""SimKO: tokens at which the policy hesitates."""

from __future__ import annotations

import numpy as np
import pytest
from learnt_rows import learnt, rows_of

from assay.methods.shaping.simko.gate import ClipLikeliest
from assay.objective import Objective, SequenceSum


@pytest.mark.parametrize(
    ("right", "logp", "expected"),
    [
        (False, [-2.0, -2.0], [-1.0, -1.1]),  # as likely as the likeliest of the stored ones: it is one of them
        (False, [-1.9, -1.9], [-1.0, -1.1]),
        (False, [-2.1, -2.1], [-1.0, -1.0]),
        (True, [-2.0, -2.0], [-1.0, -1.0]),
    ],
)
def test_hesitant_likeliest_tokens_of_wrong_answers_are_pushed_harder(
    right: bool, logp: list[float], expected: list[float]
) -> None:
    """Stored candidates stand at -2; of entropies 0.1 and 2 the second is hesitant; ratios are 1."""
    (row,) = rows_of([2], rewards=[float(right)])
    row = row.mark(old=np.array(logp, np.float32), top_ids=np.zeros((2, 3), np.int32))
    goal = Objective(gate=ClipLikeliest(share=0.5), aggregate=SequenceSum())
    (found,) = learnt(goal, [row], [logp], [[0.1, 2.0]])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
