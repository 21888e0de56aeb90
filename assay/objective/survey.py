"""What an optimiser step has to know of all its rows before the first chunk: constants for each token, kept among the
weights of the batch, so that they are cut with it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from assay.engine.interface import Want
from assay.objective import CORRECTIONS, SELECTORS, WHOLES, Objective
from assay.objective.loss import (
    COEFFICIENT,
    GATE,
    RATIO,
    constant_name,
    own_name,
    push_of,
    pushes_at_once,
    want_of,
)
from assay.objective.view import View, known
from assay.part import Part, bind
from assay.rng import Key
from assay.types import Batch

if TYPE_CHECKING:
    from torch import Tensor

    from assay.engine.interface import Engine


def survey(
    engine: Engine, batch: Batch, weight: np.ndarray, objective: Objective, key: Key, micro_tokens: int
) -> tuple[Batch, int]:
    """The batch with these constants, and how many tokens were scored for them.

    The current weights are asked, unless the sampler's numbers are already theirs.
    """
    own = [(i, term) for i, term in enumerate(objective.terms) if term.mean == "own"]
    if not objective.surveys and not own:
        return batch, 0
    view, spent = _view(engine, batch, objective, key, micro_tokens)
    found: dict[str, Tensor] = {}
    if objective.whole is not None and objective.whole.scope == "step":
        leaf = view.logp.detach().requires_grad_()
        weights = leaf.new_tensor(weight)
        loss = bind(WHOLES, objective.whole)(dataclasses.replace(view, logp=leaf), weight=weights)
        loss.backward()
        assert leaf.grad is not None
        found[COEFFICIENT] = leaf.grad
    if pushes_at_once(objective):
        found[RATIO], found[GATE] = push_of(objective)(view)
    for part in _of_the_step(objective):
        found[constant_name(part)] = bind(SELECTORS, part)(view)
    for part in objective.correct:
        if part.scope == "step":
            found[constant_name(part)] = bind(CORRECTIONS, part)(view)
    for place, term in own:
        counted = view.streams["counted"] & view.streams["mask"]
        where = counted if term.over is None else bind(SELECTORS, term.over)(view) & counted
        found[own_name(place)] = where.to(view.logp.dtype) / where.sum().clamp(min=1)
    streams = {name: value.detach().float().cpu().numpy() for name, value in found.items()}
    return dataclasses.replace(batch, weights={**batch.weights, **streams}), spent


def _of_the_step(objective: Objective) -> set[Part]:
    """Selectors that compare rows."""
    over = [*objective.keep, *(case.over for case in objective.cases), *(term.over for term in objective.terms)]
    return {part for part in over if part is not None and part.scope == "step"}


def _view(engine: Engine, batch: Batch, objective: Objective, key: Key, tokens: int) -> tuple[View, int]:
    import torch

    want, spent = want_of(objective), 0
    arrays = {name: getattr(batch, name) for name in ("mask", "counted", "advantage", "origin")}
    more = {name: getattr(batch, name) for name in ("old", "mu", "ref", "value", "top_ids")}
    arrays |= {name: array for name, array in more.items() if array is not None}
    arrays |= {f"weights/{name}": array for name, array in batch.weights.items()}
    streams = known({name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()})
    row = torch.from_numpy(np.repeat(np.arange(len(batch)), batch.lengths))
    found: dict[str, Tensor] = {"logp": torch.full((len(batch.ids),), torch.nan)}
    if objective.surveys:
        found, spent = (_sampled(batch), 0) if _of_now(engine, batch, want) else _scored(engine, batch, want, tokens)
    seen = {name: found.get(name) for name in ("entropy", "top_logp")}
    counted = int(np.count_nonzero(batch.counted_rows))
    logp = found["logp"].masked_fill(~streams["mask"], 0.0)
    return View(logp, streams=streams, row=row, batch=batch, counted=counted, key=key, **seen), spent


def _of_now(engine: Engine, batch: Batch, want: Want) -> bool:
    """Whether the current weights sampled every token that trains, under the context that is trained."""
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
    """A pass without a graph over all rows."""
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
