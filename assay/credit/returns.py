"""Credit for rewards within an answer: what is still to come at each token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.credit.pack import earned
from assay.curate.grouping import spread
from assay.part import Credit
from assay.types import Row, by_group


def return_to_go(rows: Sequence[Row]) -> list[Row]:
    """A_t = R + sum_{u >= t} r_u - mean_g (R + sum_u r_u); 0 if all returns of a group are equal throughout."""
    result = list(rows)
    for group in by_group(rows).values():
        totals = [earned(row) for row in group.members]
        flat = all(row.process is None or not np.any(row.process) for row in group.members)
        for i in group.places:
            tokens = len(rows[i].episode)
            if flat and not spread(totals):
                result[i] = rows[i].mark(advantage=np.zeros(tokens))
                continue
            process = rows[i].process
            dense = np.zeros(tokens) if process is None else np.asarray(process, np.float64)
            ahead = np.cumsum(dense[::-1])[::-1]
            result[i] = rows[i].mark(advantage=(rows[i].reward or 0.0) + ahead - float(np.mean(totals)))
    return result


class ReturnToGo(Credit):
    """A_t = what the answer still earns from token t on, less the mean return of the group.

    For rewards of turns, spans and tokens. Without such rewards it is `group-relative` with scale none.

    For your own recipes: for rewards of turns, spans and tokens without a critic; `gae` is the one with a critic.

        credit=ReturnToGo()
        --mechanism.credit return-to-go
    """

    compares = True
    does = return_to_go
