"""Optimiser steps on a batch. Each mini-batch gets its token weights, is computed in chunks, and makes one step."""

from __future__ import annotations

import bisect
import logging
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import EndpointError
from assay.objective import Objective
from assay.objective.loss import COEFFICIENT, Loss, loss_of, want_of
from assay.objective.survey import survey
from assay.objective.view import view_of
from assay.part import bind
from assay.rng import Key
from assay.scale import Scale
from assay.streams import tokens_of
from assay.types import Batch, Origin, Stats

if TYPE_CHECKING:
    from assay.engine.interface import Chunk, Engine, Outputs

log = logging.getLogger(__name__)


def improve(
    engine: Engine,
    batch: Batch,
    *,
    objective: Objective,
    scale: Scale,
    key: Key,
    micro_tokens: int,
    before: int | None = None,
    moments: str = "",
) -> Stats:
    """Makes `num_epochs` passes over the batch with `num_minibatches` optimiser steps each, and returns the metrics.

    `before` is the number of updates that the learning-rate schedule has behind it; by default it is the number of
    updates that the engine has made.
    """
    before = engine.version if before is None else before
    seen = _Seen()
    for index, part in enumerate(minibatches(batch, scale, key)):
        weight = bind(objective.aggregate)(part, max_new=scale.max_new)
        here = key("update", index)
        part, spent = survey(engine, part, weight, objective, here, micro_tokens)
        seen.count("update/surveyed", spent)
        useful = useful_rows(part, objective)
        if len(useful) == 0:
            seen.count("update/empty")
            continue
        counted = int(np.count_nonzero(part.counted_rows))
        rows = part.select(useful), _rows_of(weight, part, useful)
        about = {"counted": counted, "key": here, "seen": seen, "first": index == 0, "version": engine.version}
        accumulate(engine, *rows, objective, micro_tokens, **about)
        rate = learning_rate(before + index, scale)
        seen.step(engine.step(lr=rate, clip=scale.clip_norm, moments=moments), rate, part)
    return seen.stats(batch)


def accumulate(
    engine: Engine,
    batch: Batch,
    weight: np.ndarray,
    objective: Objective,
    micro_tokens: int,
    *,
    counted: int | None = None,
    key: Key | None = None,
    seen: _Seen | None = None,
    first: bool = True,
    version: int | None = None,
) -> float:
    """Adds the gradient of the whole mini-batch to the engine, chunk by chunk, and returns the loss.

    `counted` is the number of rows in the denominator, by default those of this batch. The batch must hold the
    constants of `survey`. `version` is the version of the weights; with it a view can tell which answers they wrote.
    """
    loss_function, want, total = loss_of(objective), want_of(objective), 0.0
    counted = int(np.count_nonzero(batch.counted_rows)) if counted is None else counted
    for chunk in engine.chunks(batch, tokens=micro_tokens):
        out = engine.forward(chunk, want)
        _report(engine, out, chunk)
        _require_own(engine, out, chunk, version)
        view = view_of(out, chunk, counted=counted, key=key or Key(0), version=version)
        loss = loss_function(view, out.logp.new_tensor(_rows_of(weight, batch, chunk.rows)))
        loss.value.backward()
        engine.backward(chunk, out)
        total += float(loss.value.detach())
        if seen is not None:
            seen.chunk(loss, out, chunk, first=first)
    return total


def _report(engine: Engine, out: Outputs, chunk: Chunk) -> None:
    """Logs at which token of which answer the first NaN or infinity arose. The optimiser step will be skipped.

    In a matrix product a NaN spreads to other tokens, even to earlier ones. Each suspected answer is therefore scored
    again alone, by ever shorter beginnings.
    """
    from assay.engine.interface import Span

    sound, batch = out.logp.isfinite(), chunk.batch
    if sound.all():
        return

    def spoilt(row: int, count: int) -> bool:
        context = batch.context[batch.context_at[row] : batch.context_at[row + 1]]
        ids = batch.ids[batch.at[row] : batch.at[row] + count]
        (scores,) = engine.score([Span(context, ids, float(batch.temperature[row]))])
        return not np.isfinite(scores.logp).all()

    for row in sorted(set(chunk.row[~sound].tolist())):
        if not spoilt(row, int(batch.lengths[row])):
            continue
        token = bisect.bisect_left(range(1, int(batch.lengths[row])), True, key=lambda n: spoilt(row, n))
        log.warning(
            "the log-prob of token %d of answer %s is not finite in the learner: this step will be skipped",
            token,
            batch.request[row],
        )
        return


def _require_own(engine: Engine, out: Outputs, chunk: Chunk, version: int | None) -> None:
    """Refuses answers of another process that claim to be of the current weights, if their log-probs differ although
    samplers compute bit for bit as the learner does: then other weights wrote them.
    """
    wrote, sampled = chunk.streams.get("version"), chunk.streams.get("sampled")
    blended = chunk.batch.blend_ids is not None
    if not engine.exact or version is None or wrote is None or sampled is None or blended:
        return
    moved = chunk.streams["mask"].new_tensor(chunk.batch.moved).bool()[chunk.row]
    own = (wrote == version) & sampled.isfinite() & (chunk.streams["mask"] > 0) & ~moved
    own &= chunk.streams["origin"] == Origin.POLICY
    gap = (out.logp.detach() - sampled).abs().where(own, sampled.new_zeros(()))
    if not (gap > 0).any():
        return
    requests = [chunk.batch.request[row] for row in dict.fromkeys(chunk.row[gap > 0].tolist())]
    if writers := engine.writers(requests):
        raise EndpointError(
            f"{writers} wrote {len(requests)} answers whose log-probs differ from the learner's by up to "
            f"{float(gap.max()):.3g}, where both compute the same bits: other weights than those of version {version} "
            "wrote them, or the server computes wrongly. Nothing of this step is trained on. Start it again, then "
            "`assay resume`."
        )


def minibatches(batch: Batch, scale: Scale, key: Key) -> Iterator[Batch]:
    """The mini-batches of all epochs, `num_minibatches` in each. Groups stay whole if there are at least as many groups
    as mini-batches.
    """
    if scale.num_updates == 1:
        yield batch
        return
    unit = batch.group.numbers
    count = len(np.unique(unit))
    if count < scale.num_minibatches:
        unit, count = np.arange(len(batch)), len(batch)
    members, at = np.argsort(unit, kind="stable"), np.searchsorted(np.sort(unit), np.arange(count + 1))
    for epoch in range(scale.num_epochs):
        order = key("minibatch", epoch).generator().permutation(count)
        for part in np.array_split(order, scale.num_minibatches):
            rows = members[tokens_of(at, part)[0]]
            if len(rows):
                yield batch.select(rows)


def useful_rows(batch: Batch, objective: Objective) -> np.ndarray:
    """The rows that can change the weights. Leaving the others out is exact: the denominators are already computed, and
    a row whose coefficients are zero adds nothing to the gradient.
    """
    acts = batch.mask.copy()
    if not objective.terms and objective.whole is None:
        acts &= batch.advantage != 0
    elif not objective.terms and COEFFICIENT in batch.constants:
        acts &= batch.constants[COEFFICIENT] != 0
    return np.flatnonzero(np.add.reduceat(np.append(acts, False), batch.at[:-1]) * (batch.lengths > 0))


def learning_rate(update: int, scale: Scale) -> float:
    """The learning rate of an update: a linear warm-up, then constant, or linear or cosine decay to zero at the end."""
    total = max(1, scale.num_steps * scale.num_updates)
    warm = min(1.0, (update + 1) / scale.warmup_steps) if scale.warmup_steps else 1.0
    progress = min(1.0, max(0.0, (update - scale.warmup_steps) / max(1, total - scale.warmup_steps)))
    decay = {"constant": 1.0, "linear": 1.0 - progress, "cosine": 0.5 * (1 + math.cos(math.pi * progress))}
    return scale.learning_rate * warm * decay[scale.schedule]


def _rows_of(stream: np.ndarray, batch: Batch, rows: np.ndarray) -> np.ndarray:
    """A token stream restricted to these rows."""
    return stream[tokens_of(batch.at, rows)[0]]


class _Seen:
    """The metrics of the optimiser steps on one batch: means over trained tokens, gathered over chunks and updates."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.maxima: dict[str, float] = {}
        self.last: dict[str, float] = {}
        self.tokens = 0.0
        self.first_tokens = 0.0
        self.update_tokens = 0
        self.steps = 0

    def count(self, name: str, amount: float = 1.0) -> None:
        self.sums[name] = self.sums.get(name, 0.0) + amount

    def chunk(self, loss: Loss, out: Outputs, chunk: Chunk, *, first: bool) -> None:
        mask = chunk.streams["mask"].to(out.logp.dtype)
        self.tokens += float(mask.sum())
        if loss.ratio is not None and loss.gate is not None:
            advantage = chunk.streams["advantage"]
            shut = (loss.gate == 0) & (advantage != 0) & (chunk.streams["origin"] == Origin.POLICY)
            self.count("policy/gate", float((loss.gate * mask).sum()))
            self.count("policy/ratio", float((loss.ratio * mask).sum()))
            self.count("policy/clip_fraction", float((shut * mask).sum()))
            self.count("policy/clip_fraction_up", float((shut * mask * (advantage > 0)).sum()))
            self._most("policy/ratio_max", float((loss.ratio * mask).max()) if mask.numel() else 0.0)
        if loss.correction is not None:
            weight = (loss.correction * mask).double()
            self.count("policy/correction", float(weight.sum()))
            self.count("correction/squares", float(weight.square().sum()))
            self._most("policy/correction_max", float(weight.max()) if mask.numel() else 0.0)
        for name, term in loss.terms.items():
            self.count(f"policy/{name}", float((term * mask).sum()))
        if first and "sampled" in chunk.streams:
            compared = (
                chunk.streams["sampled"].isfinite() & (mask > 0) & ~mask.new_tensor(chunk.batch.moved).bool()[chunk.row]
            )
            if compared.any():
                gap = (out.logp.detach() - chunk.streams["sampled"])[compared].abs()
                self.first_tokens += float(compared.sum())
                self.count("mismatch", float(gap.sum()))
                self._most("policy/sampler_mismatch_max", float(gap.max()))

    def step(self, result: Mapping[str, float], rate: float, part: Batch) -> None:
        self.steps += 1
        self.update_tokens += int(np.count_nonzero(part.mask))
        self.count("policy/grad_norm", result["grad_norm"])
        self.count("update/skipped", result.get("skipped", 0.0))
        self.last["policy/learning_rate"] = rate

    def _most(self, name: str, value: float) -> None:
        self.maxima[name] = max(self.maxima.get(name, 0.0), value)

    def stats(self, batch: Batch) -> Stats:
        tokens, steps = max(1.0, self.tokens), max(1, self.steps)
        stats = {name: value / tokens for name, value in self.sums.items() if name.startswith("policy/")}
        stats |= {name: value for name, value in self.sums.items() if name.startswith("update/")}
        stats |= self.maxima | self.last
        stats["policy/grad_norm"] = self.sums.get("policy/grad_norm", 0.0) / steps
        if squares := self.sums.get("correction/squares"):  # the effective share of the tokens, (sum c)^2 / (N sum c^2)
            stats["policy/correction_effective"] = self.sums["policy/correction"] ** 2 / (tokens * squares)
        if self.first_tokens:
            stats["policy/sampler_mismatch"] = self.sums["mismatch"] / self.first_tokens
        trained = max(1, np.count_nonzero(batch.mask))
        stats["policy/effective_fraction"] = np.count_nonzero(batch.mask & (batch.advantage != 0)) / trained
        stats["update/steps"] = float(self.steps)
        stats["update/tokens"] = float(self.update_tokens)
        return stats
