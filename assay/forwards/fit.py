"""Training of a model beside the policy, such as a critic: optimiser steps on a loss of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from assay.types import Batch

if TYPE_CHECKING:
    from torch import Tensor

    from assay.engine.interface import Chunk, Engine, Outputs, Want
    from assay.rng import Key
    from assay.scale import Scale


def fit(
    engine: Engine,
    batch: Batch,
    *,
    key: Key,
    scale: Scale,
    micro_tokens: int,
    want: Want,
    weigh: Callable[[Batch], np.ndarray],
    loss: Callable[[Outputs, Chunk, np.ndarray], Tensor],
) -> float:
    """The optimiser steps that `scale` asks for. Returns the mean loss.

    `weigh` gives the weight of each token of a mini-batch. `loss` gets the outputs, the micro-batch and these weights,
    and returns the sum over the rows of the micro-batch.
    """
    from assay.objective.improve import learning_rate, minibatches

    losses = []
    for part in minibatches(batch, scale, key) if batch.mask.any() else ():
        weight, total = weigh(part), 0.0
        for chunk in engine.chunks(part, tokens=micro_tokens):
            out = engine.forward(chunk, want)
            value = loss(out, chunk, np.concatenate([weight[part.at[i] : part.at[i + 1]] for i in chunk.rows]))
            value.backward()
            engine.backward(chunk, out)
            total += float(value.detach())
        engine.step(lr=learning_rate(engine.version, scale), clip=scale.clip_norm)
        losses.append(total)
    return float(np.mean(losses)) if losses else 0.0
