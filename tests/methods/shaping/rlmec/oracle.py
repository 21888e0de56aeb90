"""Advantages are what a model says of each token, and nothing else."""

import numpy as np

from assay.types import Row


def with_rewards_of_tokens(rows: list[Row]) -> list[Row]:
    result = []
    for index, row in enumerate(rows):
        earned = np.random.default_rng(index).choice([-0.1, 0.2, 0.5], len(row.episode)).astype(np.float32)
        if len(earned) > 2:
            earned[0] = 0.0
        result.append(row.mark(process=earned))
    return result


ROWS = {"rlmec": with_rewards_of_tokens}
TESTED = {"rlmec": "test_both_losses_by_hand"}
