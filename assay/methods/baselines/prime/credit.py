"""Two kinds of reward, each with its own baseline: the outcome, and the process model's reward of every token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.credit.gae import estimate
from assay.credit.pack import trains
from assay.curate.grouping import spread
from assay.part import Credit
from assay.types import Row, by_group


def process_leave_one_out(rows: Sequence[Row], *, outcome: float, process: float) -> list[Row]:
    """r is the `process` stream on the tokens that train. A group of equal outcomes still has its process term.

    A = 0 if errors of ours left one row of the group, and on rows without a token to train.
    """
    result = list(rows)
    for group in by_group(rows).values():
        masks = [trains(row) for row in group.members]
        dense = [_dense(row)[mask] for row, mask in zip(group.members, masks, strict=True)]
        rewards = np.array([row.reward or 0.0 for row in group.members])
        count, means = len(group.members), [d.mean() if len(d) else 0.0 for d in dense]
        for k, i in enumerate(group.places):
            advantage = np.zeros(len(rows[i].episode))
            if count > 1 and len(dense[k]):
                own = process * (count * dense[k] - sum(means)) / (count - 1)
                if spread(rewards.tolist()):
                    own[-1] += outcome * (rewards[k] - rewards.mean()) * count / (count - 1)
                advantage[masks[k]] = estimate(own, np.zeros(len(own)), gamma=1.0, lam=1.0)
            result[i] = rows[i].mark(advantage=advantage)
    return result


class ProcessLeaveOneOut(Credit):
    """A_t = sum_{t' >= t} [ process r'_t' + outcome (R - mean of the others) 1[t' = T] ] (PRIME 2502.01456).

    r'_t = n / (n - 1) r_t - 1 / (n - 1) sum_j m_j, where m_j is the mean over the tokens of answer j. That is
    leave-one-out if each answer has one reward; for token rewards the mean of the answer itself stays in the baseline.

        credit=ProcessLeaveOneOut(process=5.0)
        --mechanism.credit process-leave-one-out --mechanism.credit.process 5.0
    """

    outcome: float = 5.0
    process: float = 5.0
    does = process_leave_one_out
    compares = True


def _dense(row: Row) -> np.ndarray:
    return np.zeros(len(row.episode)) if row.process is None else np.asarray(row.process, np.float64)
