"""log Z, the normaliser of a distribution over answers: one number for each question, learnt beside the policy."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.credit.pack import pack, trains
from assay.forwards.critic import fit, values_of
from assay.memory import Memory
from assay.models import Models
from assay.part import Forward, Positive
from assay.scale import Output
from assay.streams import Stream
from assay.types import Row, Stats

if TYPE_CHECKING:
    from assay.scale import Scale

LOG_Z = Stream("log_z", per="row", filled_by="`partition` of `forwards`")


def partition(
    rows: Sequence[Row], *, models: Models, memory: Memory, scale: Scale, micro_tokens: int, model: str, rate: float
) -> tuple[list[Row], Stats]:
    """Gives each row its log Z: the value before its first token, read before the value learns."""
    result, engine, lessons = list(rows), models[model], []
    places = [i for i, row in enumerate(rows) if row.in_loss or row.in_denominator]
    for i, row in zip(places, values_of(engine, [rows[i] for i in places], tokens=micro_tokens), strict=True):
        assert row.value is not None and row.ref is not None and row.old is not None
        count = len(row.value)
        result[i] = rows[i].mark(constants={**rows[i].constants, LOG_Z: row.value[0] if count else 0.0})
        mine = trains(rows[i])
        apart = float((row.ref - row.old)[mine].mean()) if mine.any() else 0.0
        first = (np.arange(count) == 0) & mine.any()
        lessons.append(row.mark(keep=first, target=np.full(count, apart, np.float32)))
    batch = pack(lessons)
    settings = dataclasses.replace(scale, learning_rate=rate * scale.learning_rate)
    loss = fit(engine, batch, memory.key("partition", memory.step), settings, math.inf, micro_tokens)
    values = [row.value[0] for row in lessons if row.value is not None and len(row.value)]
    return result, {"partition/loss": loss, "partition/mean": float(np.mean(values)) if values else 0.0}


class Partition(Forward):
    """log Z of each question, from a parameter set that reads the question and learns from FlowRL's residual
    (2509.15207).

    Its updates use the policy as it was before the update. Since the advantages of a group sum to zero, the gradient
    by log Z is that of the squared distance between log Z and the mean of log ref - log pi.

        forwards=(Partition(rate=1.0),)
        --mechanism.forwards partition --mechanism.forwards.0.rate 1.0
    """

    model: str = "partition"  # the name of the parameter set in the recipe's models
    rate: Positive = 1.0  # its learning rate, as a multiple of the policy's
    writes = (LOG_Z,)
    does = partition

    @property
    def outputs(self) -> dict[str, Output]:
        return {self.model: "value"}
