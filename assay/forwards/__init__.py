"""The forwards that rows need before the first update of the step: old, reference, and what a recipe's parts add."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from assay.forwards.critic import Critic, TokenKL
from assay.forwards.distributions import Distributions
from assay.memory import Memory
from assay.models import Models
from assay.objective import Objective
from assay.types import Episode, Origin, Row, Stats, joined

__all__ = [
    "Critic",
    "Distributions",
    "TokenKL",
    "run_forwards",
]


Assessor = Callable[..., tuple[list[Row], Stats]]
"""(rows, *, models, memory, ...) -> rows with what it found out. A partner that learns first makes its step here."""


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
    """Fills `old` and `ref` of the rows that go to the learner; `objective` and `batch_of` are those of a role.

    With one update of what the current weights have just written the ratio is 1 by definition and no pass is spent.
    Otherwise old is the sampler's where the current weights wrote it and sampler and learner agree bit for bit, and
    is computed here where not: under the sampling context, by the weights before the first update of the step.
    """
    result = list(rows)
    kept = [i for i, row in enumerate(rows) if row.in_loss or row.in_denominator]
    for player in dict.fromkeys(models.roles[rows[i].role] for i in kept):
        mine = [i for i in kept if models.roles[rows[i].role] == player]
        several = num_updates > 1 or len({(rows[i].batch, batch_of(rows[i].role)) for i in mine}) > 1
        asks_old = several or not all(_fresh(rows[i], models) for i in mine)
        for role in dict.fromkeys(rows[i].role for i in mine):
            places, goal = [i for i in mine if rows[i].role == role], objective(role)
            if asks_old or "old" in goal.wants:
                _fill(result, places, models, stream="old", imitates=goal.injected == "train")
            if "ref" in goal.wants:
                _fill(result, places, models, stream="ref", imitates=False)
    stats: Stats = {}
    for part in parts:
        result, found = part(result, models=models, memory=memory)
        stats = joined(stats, found)
    return result, stats


def _fresh(row: Row, models: Models) -> bool:
    """Whether the weights that are about to learn wrote it, under the context that they are about to learn it in."""
    episode, version = row.episode, models.play(row.role).version
    sampled = [segment for segment in episode.segments if segment.old is not None]
    return episode.training_context is episode.request.context and all(s.version == version for s in sampled)


def _fill(
    rows: list[Row], places: Sequence[int], models: Models, *, stream: Literal["old", "ref"], imitates: bool
) -> None:
    from assay.engine.interface import Span

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
    spans = []
    for i in places:
        episode = rows[i].episode
        # the denominator of a ratio belongs to the context that was sampled under, a reference to the trained one
        context = episode.request.context if stream == "old" else episode.training_context
        spans.append(Span(context, episode.stream("ids").astype(np.int32), episode.request.temperature))
    for i, scores in zip(places, engine.score(spans) if spans else [], strict=True):
        rows[i] = rows[i].mark(**{stream: scores.logp})


def _known(episode: Episode, version: int, *, imitates: bool) -> bool:
    """Whether these weights sampled every token that trains; imitated tokens were sampled by nobody."""
    origin = episode.stream("origin")
    trains = origin != Origin.ENV if imitates else origin == Origin.POLICY
    unknown = np.isnan(episode.stream("old")) & trains
    return not unknown.any() and all(s.version == version for s in episode.segments if s.old is not None)
