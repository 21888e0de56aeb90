"""Advantages of rows, one for a whole answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from assay.memory import Memory
from assay.part import Part, bind
from assay.types import Row

VERDICTS = st.lists(st.booleans(), min_size=2, max_size=9)


def credited(part: Part, rows: Sequence[Row], **offered: object) -> list[float]:
    """The advantage of each row, which is the same for all of its tokens."""
    found = bind(part, **{"group_size": 99, **offered})(rows, memory=Memory(0))
    for row in found:
        assert row.advantage is not None and len(row.advantage) == len(row.episode) and np.ptp(row.advantage) == 0
    return [float(row.advantage[0]) for row in found]  # type: ignore[index]


SMALL = {"max_new": 4, "num_prompts": 4, "group_size": 4, "num_steps": 4, "learning_rate": 0.02, "num_minibatches": 2}
