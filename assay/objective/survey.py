"""The survey before an optimiser step. Some parts of an objective compare all rows of the step, but the engine computes
the step in chunks of rows. The survey looks at all rows first and stores the results of such parts as constants of the
batch.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from assay.engine.interface import Want
from assay.objective import Objective
from assay.objective.loss import COEFFICIENT, GATE, RATIO, own_mean, push_of, pushes_at_once, said_by, want_of
from assay.objective.view import View, view_of_batch
from assay.part import Part, bind
from assay.rng import Key
from assay.streams import Stream
from assay.types import Batch

if TYPE_CHECKING:
    from torch import Tensor

    from assay.engine.interface import Engine


def survey(
    engine: Engine, batch: Batch, weight: np.ndarray, objective: Objective, key: Key, tokens: int
) -> tuple[Batch, int]:
    """The batch with the constants of the survey, and the number of tokens that were scored for them.

    The parts need log-probs of the current weights. Nothing is scored if the current weights sampled all answers: then
    the sampler's log-probs are used.
    """
    if not objective.surveys and all(term.mean == "policy" for term in objective.terms):
        return batch, 0
    scored, spent = {}, 0
    if objective.surveys:
        want = want_of(objective)
        scored, spent = (
            (_sampled(batch), 0) if _sampled_by_current(engine, batch, want) else _scored(engine, batch, want, tokens)
        )
    view = view_of_batch(batch, **scored, key=key)
    computed = constants(view, weight, objective)
    arrays = {stream: value.detach().float().numpy() for stream, value in computed.items()}
    return dataclasses.replace(batch, constants={**batch.constants, **arrays}), spent


def constants(view: View, weight: np.ndarray, objective: Objective) -> dict[Stream, Tensor]:
    """The results of the parts that must see all rows at once; each constant has the shape [M]."""
    values: dict[Stream, Tensor] = {}
    if objective.whole is not None and objective.whole.scope == "step":
        leaf = view.logp.detach().requires_grad_()
        weights = leaf.new_tensor(weight)
        bind(objective.whole)(dataclasses.replace(view, logp=leaf), weight=weights).backward()
        assert leaf.grad is not None
        values[COEFFICIENT] = leaf.grad
    if pushes_at_once(objective):
        values[RATIO], values[GATE] = push_of(objective)(view)
    for part in _of_the_step(objective):
        values[said_by(part)] = bind(part)(view)
    for part in objective.correct:
        if part.scope == "step":
            values[said_by(part)] = bind(part)(view)
    for number, term in enumerate(objective.terms):
        if term.mean == "own":
            trained = view.streams["mask"]
            where = trained if term.over is None else bind(term.over)(view) & trained
            values[own_mean(number)] = where.to(view.logp.dtype) / where.sum().clamp(min=1)
    return values


def _of_the_step(objective: Objective) -> set[Part]:
    """The selectors that compare rows of the whole step."""
    over = [*objective.keep, *(case.over for case in objective.cases), *(term.over for term in objective.terms)]
    return {part for part in over if part is not None and part.scope == "step"}


def _sampled_by_current(engine: Engine, batch: Batch, want: Want) -> bool:
    """Whether the current weights sampled every trained token, under the context in which it is trained."""
    if not engine.exact or want.top_ids or batch.version is None or batch.moved.any():
        return False
    asked = [batch.sampled, batch.entropy] if want.entropy else [batch.sampled]
    known = all(stream is not None and np.isfinite(stream[batch.mask]).all() for stream in asked)
    return known and bool((batch.version[batch.mask] == engine.version).all())


def _sampled(batch: Batch) -> dict[str, Tensor]:
    import torch

    streams = {"logp": batch.sampled, "entropy": batch.entropy}
    return {name: torch.from_numpy(stream) for name, stream in streams.items() if stream is not None}


def _scored(engine: Engine, batch: Batch, want: Want, tokens: int) -> tuple[dict[str, Tensor], int]:
    """Log-probs of all rows under the current weights, without a graph, and the number of tokens that were scored."""
    import torch

    rows: dict[str, list[Tensor]] = {}
    with torch.no_grad():
        for chunk in engine.chunks(batch, tokens=tokens):
            out = engine.forward(chunk, want)
            for name in ("logp", "entropy", "top_logp"):
                stream = getattr(out, name)
                if stream is None:
                    continue
                pieces = rows.setdefault(name, [stream.new_zeros(0)] * len(batch))
                for i, piece in zip(chunk.rows, stream.detach().split(chunk.batch.lengths.tolist()), strict=True):
                    pieces[i] = piece
    return {name: torch.cat(pieces).cpu() for name, pieces in rows.items()}, len(batch.ids)
