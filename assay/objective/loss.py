"""The loss of one chunk: a plain sum over its tokens, because every denominator is already in the token weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.engine.interface import Chunk, Outputs, Want
from assay.objective import GATES, RATIOS, REGULARISERS, Case, Objective
from assay.part import bind, name_of
from assay.types import Origin

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
    rules = [(None, bind(RATIOS, objective.ratio), bind(GATES, objective.gate))]
    rules += [(case, bind(RATIOS, case.ratio), bind(GATES, case.gate)) for case in reversed(objective.cases)]
    terms = [(name_of(REGULARISERS, part), bind(REGULARISERS, part)) for part in objective.regularise]

    def loss(out: Outputs, chunk: Chunk, weight: Tensor) -> Loss:
        logp, streams = out.logp, _known(chunk.streams)
        fixed = logp.detach()
        old = streams.get("old", fixed)
        ratio = gate = fixed
        for case, ratio_of, gate_of in rules:
            own = ratio_of(fixed, old)
            push = gate_of(own, streams["advantage"], streams=streams)
            here = None if case is None else _covered(case, chunk)
            ratio = own if here is None else own.where(here, ratio)
            gate = push if here is None else push.where(here, gate)
        coefficient = weight * streams["mask"] * gate * streams["advantage"]
        value = -(coefficient * logp).sum()
        extra: dict[str, Any] = {}
        for name, term in terms:
            per_token = term(out, streams)
            if (weighed := streams.get(f"weights/{name}")) is not None:
                per_token = per_token * weighed
            extra[f"{name}_loss"] = extra.get(f"{name}_loss", 0) + per_token.detach()
            value = value + (weight * streams["mask"] * per_token).sum()
        return Loss(value=value, gate=gate, ratio=ratio, terms=extra)

    return loss


def _covered(case: Case, chunk: Chunk) -> Tensor:
    """bool[M]: the tokens that the case is for."""
    here = chunk.streams["mask"].bool()
    if case.tag is not None:
        tagged = [tag == case.tag for tag in chunk.batch.tag or [""] * len(chunk.batch)]
        here = here & here.new_tensor(tagged)[chunk.row]
    if case.origin is not None:
        here = here & (chunk.streams["origin"] == Origin[case.origin.upper()])
    return here


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
