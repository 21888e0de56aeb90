"""The loss of one chunk: a plain sum over its tokens, because every denominator is already in the token weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.engine.interface import Chunk, Outputs, Want
from assay.objective import GATES, RATIOS, REGULARISERS, Objective
from assay.part import bind

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class Loss:
    """A chunk's contribution, and what was seen on the way (tensors per token, without a graph)."""

    value: Tensor
    gate: Tensor
    ratio: Tensor
    terms: Mapping[str, Tensor]


def loss_of(objective: Objective) -> Callable[[Outputs, Chunk, Tensor], Loss]:
    """The function (outputs, chunk, token weights) -> Loss that this objective means."""
    ratio_of = bind(RATIOS, objective.ratio)
    gate_of = bind(GATES, objective.gate)
    terms = [(f"{type(part).__name__.lower()}_loss", bind(REGULARISERS, part)) for part in objective.regularise]

    def loss(out: Outputs, chunk: Chunk, weight: Tensor) -> Loss:
        logp, streams = out.logp, _known(chunk.streams)
        fixed = logp.detach()
        ratio = ratio_of(fixed, streams.get("old", fixed))
        gate = gate_of(ratio, streams["advantage"])
        coefficient = weight * streams["mask"] * gate * streams["advantage"]
        value = -(coefficient * logp).sum()
        extra: dict[str, Any] = {}
        for name, term in terms:
            per_token = term(out, streams)
            extra[name] = extra.get(name, 0) + per_token.detach()
            value = value + (weight * streams["mask"] * per_token).sum()
        return Loss(value=value, gate=gate, ratio=ratio, terms=extra)

    return loss


def _known(streams: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Zeros where a token is masked: what stands there may not be a number, and no weight of zero silences that."""
    masked = ~streams["mask"]
    return {
        name: stream.masked_fill(masked.view(-1, *[1] * (stream.ndim - 1)), 0.0)
        if stream.is_floating_point()
        else stream
        for name, stream in streams.items()
    }


def want_of(objective: Objective) -> Want:
    return Want(entropy=objective.needs_entropy)
