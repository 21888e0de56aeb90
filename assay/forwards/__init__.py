"""Forward passes before the first update of a step: old and reference log-probs, and what the parts of a recipe add."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from assay.credit.pack import taught
from assay.forwards.agreement import Agreement
from assay.forwards.critic import Critic, TokenKL
from assay.forwards.reward_model import RewardModel
from assay.memory import Memory
from assay.models import Models
from assay.objective import Objective
from assay.types import Episode, Row, Stats, changed, joined

__all__ = [
    "Agreement",
    "Critic",
    "RewardModel",
    "TokenKL",
    "run_forwards",
]


Assessor = Callable[..., tuple[list[Row], Stats]]
"""(rows, *, models, memory, ...) -> (the rows with the results, metrics). Models beside the policy, such as a critic,
take their optimiser steps here too.
"""


def run_forwards(
    models: Models,
    rows: Sequence[Row],
    memory: Memory,
    *,
    objective: Callable[[str], Objective],
    batch_of: Callable[[str], str],
    num_updates: int,
    parts: Sequence[Assessor] = (),
) -> tuple[list[Row], Stats]:
    """Fills the log-probs `old` and `ref` of the rows that go to the learner. `objective` and `batch_of` map a role to
    its objective and to its batch.

    `old` is left out if the step has one update and the current weights generated all rows: then the ratio is 1 by
    definition. Otherwise `old` is the log-prob of the sampler, if the current weights sampled the row and sampler and
    learner agree bit for bit. In all other cases `old` is computed here: under the context in which the row was
    sampled, by the weights before the first update of the step.
    """
    result = list(rows)
    kept = [i for i, row in enumerate(rows) if row.in_loss or row.in_denominator]
    for player in dict.fromkeys(models.roles[rows[i].role] for i in kept):
        mine = [i for i in kept if models.roles[rows[i].role] == player]
        kinds = {(rows[i].batch, rows[i].role) for i in mine}
        several = num_updates > 1 or len({(batch, batch_of(role)) for batch, role in kinds}) > 1
        version = models.play(rows[mine[0]].role).version
        waited = any(rows[i].old is not None for i in mine)  # a batch has `old` for all of its rows, or for none
        asks_old = several or waited or not all(_fresh(rows[i].episode, version) for i in mine)
        for role in dict.fromkeys(rows[i].role for i in mine):
            places, goal = [i for i in mine if rows[i].role == role], objective(role)
            if asks_old or "old" in goal.wants:
                _fill(result, places, models, stream="old", imitates=goal.injected == "train")
            if "ref" in goal.wants:
                _fill(result, places, models, stream="ref", imitates=False)
    stats = _ages(models, [rows[i] for i in kept])
    everyone = [row.episode for row in rows]
    for part in parts:
        result, part_stats = part(result, models=models, memory=memory, everyone=everyone)
        stats = joined(stats, part_stats)
    return result, stats


def _fresh(episode: Episode, version: int) -> bool:
    """Whether the weights of this version sampled it, and its training context is the one that it was sampled in."""
    if episode.training_context is not episode.request.context:
        return False
    return all(segment.version == version for segment in episode.segments if segment.old is not None)


def _ages(models: Models, rows: Sequence[Row]) -> Stats:
    """The ages of the rows: by how many versions the weights that wrote the oldest token of a row are older than those
    that learn from it. No metric if all rows are of the present weights.
    """
    ages = [
        models.play(row.role).version - min(segment.version for segment in written)
        for row in rows
        if (written := [s for s in row.episode.segments if s.old is not None and len(s)])
    ]
    return {"age/mean": float(np.mean(ages)), "age/max": float(max(ages))} if any(ages) else {}


def _fill(
    rows: list[Row], places: Sequence[int], models: Models, *, stream: Literal["old", "ref"], imitates: bool
) -> None:
    """Fills one of the two streams of the rows at these places, where it is not known yet."""
    from assay.engine.spans import scored

    places = [i for i in places if getattr(rows[i], stream) is None]
    if not places:
        return
    role = rows[places[0]].role
    engine = models.play(role) if stream == "old" else models.reference(role)
    if stream == "old" and engine.exact:
        for i in places:
            if _known(rows[i].episode, engine.version, imitates=imitates):
                sampled = rows[i].episode.stream("old")
                rows[i] = rows[i].mark(old=np.where(np.isnan(sampled), np.float32(0), sampled))
        places = [i for i in places if rows[i].old is None]
    # `old`, the ratio's denominator, belongs to the context of sampling; the reference to the context of training
    made = scored(engine, [rows[i].episode for i in places], sampled=stream == "old")
    for i, scores in zip(places, made, strict=True):
        rows[i] = changed(rows[i], **{stream: scores.logp})


def _known(episode: Episode, version: int, *, imitates: bool) -> bool:
    """Whether the weights of this version sampled every token that trains. No weights sampled an imitated token."""
    origin = episode.stream("origin")
    unknown = np.isnan(episode.stream("old")) & taught(origin, imitates)
    return not unknown.any() and all(s.version == version for s in episode.segments if s.old is not None)
