"""The critic, which estimates the value of each state and learns it from returns, and a KL penalty in the reward."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.credit.gae import Per, Truncated, gae
from assay.credit.pack import pack
from assay.forwards.fit import Goal
from assay.forwards.fit import fit as steps
from assay.memory import Memory
from assay.models import Models
from assay.objective.aggregate import SequenceMean
from assay.objective.ratios import CLAMP
from assay.part import Aggregate, Count, Forward, Part, Positive, Proportion, bind
from assay.scale import Output
from assay.types import Batch, Origin, Row, Stats

if TYPE_CHECKING:
    from torch import Tensor

    from assay.engine.interface import Chunk, Engine, Outputs
    from assay.rng import Key
    from assay.scale import Scale


def token_kl(rows: Sequence[Row], *, models: Models, weight: float, estimator: str) -> tuple[list[Row], Stats]:
    """Adds - weight k to the per-token rewards (`process`) of the rows, on tokens that the policy wrote."""
    from assay.engine.spans import scored

    result, total, count = list(rows), 0.0, 0
    for role in dict.fromkeys(row.role for row in rows):
        places = [i for i, row in enumerate(rows) if row.role == role and (row.in_loss or row.in_denominator)]
        episodes = [rows[i].episode for i in places]
        scores = scored(models.reference(role), episodes, sampled=False)
        for i, episode, ref in zip(places, episodes, scores, strict=True):
            filled = rows[i].old
            old = episode.stream("old") if filled is None else filled
            mine = episode.stream("origin") == Origin.POLICY
            far = np.where(mine, np.nan_to_num(old) - ref.logp, 0.0).astype(np.float32)
            before = rows[i].process
            penalty = {"k1": far, "k2": far**2 / 2, "k3": np.expm1(np.minimum(-far, CLAMP)) + far}[estimator]
            result[i] = rows[i].mark(process=(0.0 if before is None else before) - weight * penalty)
            total, count = total + float(far.sum()), count + int(mine.sum())
    return result, {"policy/reference_kl": total / max(1, count)}


class TokenKL(Forward):
    """The KL penalty in the reward of each token: - weight k, with d = log pi_old - log pi_ref (not in the loss: `kl`).

    k1 = d is the right estimator in a reward. k2 = d^2 / 2 and k3 = exp(-d) - 1 + d are here because papers use them:
    in a reward the gradient of k2 does not pull towards the reference, and that of k3 vanishes near the reference.

        forwards=(TokenKL(weight=0.05, estimator="k1"),)
        --mechanism.forwards token-kl --mechanism.forwards.0.weight 0.05
    """

    weight: float = 0.05
    estimator: Literal["k1", "k2", "k3"] = "k1"  # the estimator k of the KL
    does = token_kl


def critic(
    rows: Sequence[Row],
    *,
    models: Models,
    memory: Memory,
    scale: Scale,
    micro_tokens: int,
    model: str,
    gamma: float,
    lam: float,
    clip: float,
    rate: float,
    num_minibatches: int | None,
    aggregate: Part,
    truncated: Truncated,
    per: Per,
) -> tuple[list[Row], Stats]:
    """Computes the values of the rows, then takes the critic's optimiser steps. A critic that learns first computes the
    values once more afterwards.
    """
    result, engine = list(rows), models[model]
    places = [i for i, row in enumerate(rows) if row.in_loss or row.in_denominator]
    if not places:  # all answers of the step were lost
        return result, {"critic/explained": 0.0, "critic/loss": 0.0}
    beyond = truncated == "bootstrap"
    seen = values_of(engine, [rows[i] for i in places], tokens=micro_tokens, beyond=beyond)
    lessons = gae(seen, gamma=gamma, lam=lam, truncated=truncated, per=per)
    batch = pack(lessons)
    stats = {"critic/explained": _explained(batch)}
    settings = dataclasses.replace(
        scale,
        learning_rate=rate * scale.learning_rate,
        num_minibatches=num_minibatches or scale.num_minibatches,
    )
    key = memory.key("critic", memory.step)
    stats["critic/loss"] = fit(engine, batch, key, settings, clip, micro_tokens, aggregate)
    if models.specs[model].learns_first:
        seen = values_of(engine, seen, tokens=micro_tokens, beyond=beyond)
    for i, row in zip(places, seen, strict=True):
        result[i] = row
    return result, stats


class Critic(Forward):
    """A critic: the value of the state before each token. It is trained beside the policy on the targets A + V of GAE.

    forwards=(Critic(model="critic", lam=0.95),)
    --mechanism.forwards critic --mechanism.forwards.0.lam 0.95
    """

    model: str = "critic"  # the name of the critic in the recipe's `models`
    gamma: Proportion = 1.0  # discount
    lam: Proportion = 0.95  # lambda of GAE
    clip: float = 0.2  # value clip: how far the loss lets a value move from the value before the step
    rate: Positive = 1.0  # its learning rate, as a multiple of the policy's
    num_minibatches: Count | None = None  # its optimiser steps in a pass over the batch; None: as many as the policy's
    aggregate: Aggregate = SequenceMean()  # how its loss averages over tokens and rows
    truncated: Truncated = "end"  # the return where a limit cut an answer off, as in `gae` of `credit`
    per: Per = "token"  # where gamma and lambda count, as in `gae` of `credit`
    does = critic

    @property
    def outputs(self) -> dict[str, Output]:
        return {self.model: "value"}


def values_of(engine: Engine, rows: Sequence[Row], *, tokens: int, beyond: bool = False) -> list[Row]:
    """The rows with `value`: V of the state before each token of the answer, in the training context. `beyond`: and
    with `bootstrap`, V of the state behind the last token, where a limit cut the answer off.
    """
    from assay.engine.interface import Want
    from assay.engine.spans import forwarded, joined, longer, paths_of

    spans, counts = paths_of([row.episode for row in rows], sampled=False)
    ends = [beyond and _goes_on(row) for row in rows]
    for row, end, last in zip(rows, ends, np.cumsum(counts, dtype=np.int64).tolist(), strict=True):
        if end:
            spans[last - 1] = longer(spans[last - 1], row.episode.after)
    values = joined([value for (value,) in forwarded(engine, spans, Want(value=True), "value", tokens=tokens)], counts)
    made = [row.mark(value=value[: len(row.episode)]) for row, value in zip(rows, values, strict=True)]
    behind = zip(made, values, ends, strict=True)
    return [row.mark(bootstrap=float(value[-1])) if end else row for row, value, end in behind]


def _goes_on(row: Row) -> bool:
    """Whether there is a state behind the last step, and what was observed in it is known."""
    return row.episode.finish == "length" and (row.episode.known("seen") is None or row.episode.after is not None)


def fit(
    engine: Engine,
    batch: Batch,
    key: Key,
    scale: Scale,
    clip: float,
    micro_tokens: int,
    aggregate: Part = SequenceMean(),
) -> float:
    """Optimiser steps on the clipped squared error of the values, averaged by `aggregate`. Returns the mean loss."""
    from assay.engine.interface import Want
    from assay.objective.value import value_loss

    def loss(out: Outputs, chunk: Chunk, weight: np.ndarray) -> Tensor:
        assert out.value is not None
        s = chunk.streams
        each = value_loss(out.value, s["target"], s["value"], clip=clip)
        return (out.value.new_tensor(weight) * s["mask"] * each).sum()

    weigh = partial(bind(aggregate), max_new=scale.max_new)
    (mean,) = steps(engine, batch, Goal(Want(value=True), weigh, loss), key=key, scale=scale, micro_tokens=micro_tokens)
    return mean


def _explained(batch: Batch) -> float:
    """The explained variance, 1 - var(target - value) / var(target), over the tokens that train."""
    assert batch.target is not None and batch.value is not None
    target, value = batch.target[batch.mask], batch.value[batch.mask]
    return float(1 - (target - value).var() / (target.var() + 1e-8)) if len(target) else 0.0
