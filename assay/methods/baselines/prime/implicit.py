"""A process model without labels of steps: its token rewards follow from learning which answers are right."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from assay.credit.pack import pack, trains
from assay.errors import ConfigError
from assay.forwards.fit import Goal, fit
from assay.memory import Memory
from assay.models import Models
from assay.objective.aggregate import sequence_mean
from assay.part import Forward, Positive, scales_with
from assay.types import Row, Stats

if TYPE_CHECKING:
    from torch import Tensor

    from assay.engine.interface import Chunk, Outputs
    from assay.scale import Scale


def implicit_process(
    rows: Sequence[Row],
    *,
    models: Models,
    memory: Memory,
    scale: Scale,
    micro_tokens: int,
    model: str,
    reference: str,
    beta: float,
    rate: float,
    clip_norm: float,
) -> tuple[list[Row], Stats]:
    """Trains the process model by cross entropy with the outcomes; with `learns_first` it gives its rewards
    afterwards.
    """
    from assay.engine.spans import scored

    if missing := [name for name in (model, reference) if name not in models]:
        raise ConfigError(f"forwards: the recipe has no model '{missing[0]}'; its models are {', '.join(models)}.")
    result = list(rows)
    settings = dataclasses.replace(scale, learning_rate=rate * scale.learning_rate, clip_norm=clip_norm)
    places = [i for i, row in enumerate(rows) if row.in_loss or row.in_denominator]
    episodes = [rows[i].episode for i in places]
    fixed = [scores.logp for scores in scored(models[reference], episodes, sampled=False)]
    lesson = [rows[i].mark(old=None, ref=ref) for i, ref in zip(places, fixed, strict=True)]
    first = models.specs[model].learns_first

    def far() -> list[np.ndarray]:
        """The process model's log-ratios to its reference on the tokens of each row."""
        made = scored(models[model], episodes, sampled=False)
        return [
            beta * np.where(trains(row), scores.logp - ref, 0.0)
            for row, scores, ref in zip(lesson, made, fixed, strict=True)
        ]

    before = [] if first else far()
    stats = {"process/loss": learn(models, model, lesson, settings, memory, micro_tokens, beta=beta)}
    log_ratios = far() if first else before
    right = [(float(r.sum()) > 0) == row.right for r, row in zip(log_ratios, lesson, strict=True)]
    stats["process/accuracy"] = float(np.mean(right)) if right else 0.0
    for i, reward in zip(places, scaled(log_ratios, lesson), strict=True):
        result[i] = rows[i].mark(process=reward.astype(np.float32))
    return result, stats


class ImplicitProcess(Forward):
    """Rewards r_t = beta (log phi - log phi_ref) of the tokens that train, from a model phi that learns online
    (PRIME).

    The last token of an answer has no such reward. All rewards are divided by the largest return of the whole step.

        forwards=(ImplicitProcess(beta=0.05),)
        --mechanism.forwards implicit-process --mechanism.forwards.0.beta 0.05
    """

    model: str = "process"
    reference: str = "process-reference"  # the name of the reference that the rewards are relative to
    beta: Positive = scales_with(
        "max_new", 0.05, at=3072, inverse=True
    )  # longer answers get a smaller beta, so that the sum over an answer keeps its size
    rate: Positive = 2.0  # its learning rate, as a multiple of the policy's
    clip_norm: float = 10.0  # largest norm of its gradient
    does = implicit_process
    needs_verdict = True


def learn(
    models: Models, model: str, rows: Sequence[Row], scale: Scale, memory: Memory, micro_tokens: int, *, beta: float
) -> float:
    """Minimises the mean over answers of the cross entropy; `ref` of the rows is that of the process model's
    reference.
    """
    from assay.engine.interface import Want
    from assay.objective.value import outcome_loss

    def loss(out: Outputs, chunk: Chunk, weight: np.ndarray) -> Tensor:
        mask = chunk.streams["mask"].to(out.logp.dtype)
        labels = out.logp.new_tensor(chunk.batch.right)
        each = outcome_loss(out.logp * mask, chunk.streams["ref"] * mask, chunk.row, labels, beta=beta)
        share = out.logp.new_zeros(len(labels)).index_add(0, chunk.row, out.logp.new_tensor(weight) * mask)
        return (share * each).sum()

    settings = {"key": memory.key("process", memory.step), "scale": scale, "micro_tokens": micro_tokens}
    weigh = partial(sequence_mean, max_new=scale.max_new)
    (mean,) = fit(models[model], pack(rows), Goal(Want(), weigh, loss), **settings)
    return mean


def scaled(rewards: Sequence[np.ndarray], rows: Sequence[Row]) -> list[np.ndarray]:
    """The rewards without that of the last token, divided by max |return| + 1e-6."""
    result = [reward.astype(np.float64) for reward in rewards]
    for reward, row in zip(result, rows, strict=True):
        reward[np.flatnonzero(trains(row))[-1:]] = 0.0
    ahead = [np.abs(np.cumsum(reward[::-1])).max(initial=0.0) for reward in result]
    return [reward / (max(ahead) + 1e-6) for reward in result]
