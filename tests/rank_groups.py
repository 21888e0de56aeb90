"""Groups of ranks that tests share. A rank takes seconds of the processor to start, so a process of pytest begins one
group of each size, when a file first asks for it, and ends it with itself. A test that harms its ranks has its own.
"""

from __future__ import annotations

import atexit

from assay.engine.sharded.ranks import RankLayout, Ranks

DEADLINE = 60.0
_OPEN: dict[int, Ranks] = {}


def shared_ranks(size: int) -> Ranks:
    """The group of this size; a new one where a test has lost a rank of it. Learners in it need names of their own."""
    if size not in _OPEN or _OPEN[size].lost:
        _OPEN[size] = Ranks(RankLayout(size=size, deadline=DEADLINE))
        atexit.register(_OPEN[size].close)
    return _OPEN[size]
