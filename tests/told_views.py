"""What a selector keeps of tokens of which everything is told."""

from __future__ import annotations

import dataclasses

import numpy as np
from tiny import episode, pushes, segment

from assay.objective import NoRatio, Objective, Open, SequenceSum
from assay.part import Selector
from assay.types import Row


@dataclasses.dataclass(frozen=True)
class Told:
    """Tokens with the policy's probability and the sampler's."""

    p: list[float]
    q: list[float]
    advantage: float


def kept(part: Selector, told: Told) -> list[bool]:
    q = np.log(told.q).astype(np.float32)
    row = Row(episode([segment([1] * len(q), mu=q, old=q)])).mark(old=q, advantage=np.full(len(q), told.advantage))
    goal = Objective(gate=Open(), ratio=NoRatio(), keep=(part,), aggregate=SequenceSum())
    (found,) = pushes(goal, [row], {row.episode.request.id: np.log(told.p).tolist()})
    return [x != 0 for x in found]
