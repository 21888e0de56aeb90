"""What is computed for the rows before the update."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Forward
from assay.streams import Stream
from assay.types import Row, Stats

SURPRISE = Stream("my_method", per="token", filled_by="`my-method` of `forwards`")


def surprise(rows: Sequence[Row]) -> tuple[list[Row], Stats]:
    """-log mu of each token that the sampler knows, else 0."""
    made, total = [], 0.0
    for row in rows:
        known = np.nan_to_num(-row.episode.stream("mu")).astype(np.float32)
        made.append(row.mark(constants={**row.constants, SURPRISE: known}))
        total += float(known.sum())
    return made, {"my-method/surprise": total / max(1, sum(len(row.episode) for row in rows))}


class MyMethod(Forward):
    """Fill in: what the models say of the answers (and the arXiv id). Here how surprising each token was."""

    writes = (SURPRISE,)
    does = surprise
