"""Rows and the coefficients that an optimiser step gives their tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
from tiny import Table, episode, update

from assay.credit import pack
from assay.objective import Objective
from assay.scale import Scale
from assay.types import Row

SCALE = Scale(num_prompts=2, group_size=3, max_new=8, learning_rate=0.5, num_steps=10)


def rows_of(lengths: list[int], *, rewards: list[float] | None = None, groups: int = 1) -> list[Row]:
    """Row i of so many tokens, advantage i + 1, old log-probs of -1."""
    rewards = rewards or [float(i % 2) for i in range(len(lengths))]
    return [
        Row(episode([1] * n, group=f"g{i % groups}", sample=i, reward=r)).mark(
            advantage=np.full(n, i + 1.0), old=np.full(n, -1.0, np.float32)
        )
        for i, (n, r) in enumerate(zip(lengths, rewards, strict=True))
    ]


def learnt(objective: Objective, rows: list[Row], logp: Any, entropy: Any = 1.0, *, cut: int | None = None) -> Any:
    """The coefficient of each token, by row."""
    names = [row.episode.request.id for row in rows]
    given_entropy = entropy if isinstance(entropy, float) else dict(zip(names, entropy, strict=True))
    table = Table(dict(zip(names, logp, strict=True)), given_entropy, rows=cut)
    update(table, pack(rows), objective, SCALE)
    return [table.coefficients.get(name) for name in names]
