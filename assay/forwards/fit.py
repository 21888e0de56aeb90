"""Training of a model beside the policy, such as a critic: optimiser steps on losses of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.types import Batch

if TYPE_CHECKING:
    from torch import Tensor

    from assay.engine.interface import Chunk, Engine, Outputs, Want
    from assay.rng import Key
    from assay.scale import Scale


@dataclass(frozen=True)
class Goal:
    """A loss: the outputs that it needs of the model, the weight of each token of a mini-batch, and the sum over the
    rows of a micro-batch, of which `loss` gets the outputs and these weights.
    """

    want: Want
    weigh: Callable[[Batch], np.ndarray]
    loss: Callable[[Outputs, Chunk, np.ndarray], Tensor]


def fit(engine: Engine, batch: Batch, *goals: Goal, key: Key, scale: Scale, micro_tokens: int) -> list[float]:
    """The optimiser steps that `scale` asks for, each on the sum of the goals. Returns the mean loss of each goal.

    Each goal has a pass of its own over the micro-batch, because a model gives values or tokens in one pass.
    """
    from assay.objective.improve import learning_rate, minibatches

    losses: list[np.ndarray] = []
    for part in minibatches(batch, scale, key) if batch.mask.any() else ():
        weights, total = [goal.weigh(part) for goal in goals], np.zeros(len(goals))
        for chunk in engine.chunks(part, tokens=micro_tokens):
            for index, (goal, weight) in enumerate(zip(goals, weights, strict=True)):
                out = engine.forward(chunk, goal.want)
                own = np.concatenate([weight[part.at[i] : part.at[i + 1]] for i in chunk.rows])
                value = goal.loss(out, chunk, own)
                value.backward()
                engine.backward(chunk, out)
                total[index] += float(value.detach())
        engine.step(lr=learning_rate(engine.version, scale), clip=scale.clip_norm)
        losses.append(total)
    return np.mean(losses, axis=0).tolist() if losses else [0.0] * len(goals)
