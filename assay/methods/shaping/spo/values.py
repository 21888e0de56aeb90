"""The value of each problem: a Beta posterior of its pass rate that forgets as the policy drifts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.models import Models
from assay.part import Remembering
from assay.types import Episode, Origin, Row, Segment

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "values"  # problem -> (alpha, beta); the same store has the last answer to each problem
PROBE = "probe"  # the tag of the answers that give the first estimate


def value(store: Mapping[str, Sequence[float]], problem: str, probes: Sequence[bool] = ()) -> float:
    """alpha / (alpha + beta); for a new problem (S + 1/2) / (n + 1) if S of its n probes are right."""
    if problem in store:
        alpha, beta = store[problem]
        return alpha / (alpha + beta)
    return (sum(probes) + 0.5) / (len(probes) + 1)


def probes_of(rows: Sequence[Row]) -> dict[str, list[bool]]:
    """For each problem, whether each of its probes is right."""
    found: dict[str, list[bool]] = {}
    for row in rows:
        if row.episode.request.tag == PROBE and row.reward is not None:
            found.setdefault(row.episode.request.problem.id, []).append(row.right)
    return found


def track_values(
    memory: Memory,
    *,
    models: Models,
    rows: Sequence[Row],
    half: float,
    least: float,
    most: float,
    place: str = STORE,
) -> Memory:
    """The memory with the new posteriors; drift uses the log-probs after the update.

    A first estimate counts as 1 / (1 - least) answers, or as one answer if there were no probes.
    """
    store, probes = memory.store(place), probes_of(rows)
    last = {e.request.problem.id: e for e in memory.kept.get(place, ())}
    given = [row for row in rows if row.episode.request.tag != PROBE and row.reward is not None]
    earlier = [last[p] for p in dict.fromkeys(r.episode.request.problem.id for r in given) if p in last]
    now = _scored(models, [*earlier, *(row.episode for row in given)])
    drift = {e.request.problem.id: _drift(e, after) for e, after in zip(earlier, now[: len(earlier)], strict=True)}
    for row, logp in zip(given, now[len(earlier) :], strict=True):
        problem, right = row.episode.request.problem.id, float(row.right)
        if problem not in store:
            first, weight = value({}, problem, probes.get(problem, ())), 1 / (1 - least) if problem in probes else 1.0
            store[problem] = [weight * first, weight * (1 - first)]
        # an answer of this step has no drift yet, so the second one to a problem forgets nothing
        rho = min(most, max(least, 2.0 ** (-drift.pop(problem, 0.0) / half)))
        alpha, beta = store[problem]
        store[problem] = [rho * alpha + right, rho * beta + 1 - right]
        last[problem] = _bare(row.episode, logp)
    return memory.keep(place, store).hold(place, list(last.values()))


class TrackValues(Remembering):
    """alpha <- rho alpha + r, beta <- rho beta + 1 - r after each answer, rho = 2^(-D / half) within [least, most]
    (SPO 2509.13232).

    D is the drift: how far the log-probs of the last answer to the problem have moved since it was sampled.

        remember=(TrackValues(half=0.06),)
        --mechanism.remember track-values --mechanism.remember.0.half 0.06
    """

    keeps = STORE

    half: float = 0.06  # the drift at which half of the past answers is forgotten
    least: float = 0.875
    most: float = 0.96  # upper bound of rho
    does = track_values
    needs_verdict = True


def _scored(models: Models, episodes: Sequence[Episode]) -> list[np.ndarray]:
    from assay.engine.interface import Span

    result = [np.zeros(0, np.float32)] * len(episodes)
    for role in dict.fromkeys(e.request.role for e in episodes):
        places = [i for i, e in enumerate(episodes) if e.request.role == role]
        asked = [(episodes[i].request, episodes[i].stream("ids").astype(np.int32)) for i in places]
        spans = [Span(request.context, ids, request.temperature) for request, ids in asked]
        for i, scores in zip(places, models.play(role).score(spans), strict=True):
            result[i] = scores.logp
    return result


def _drift(episode: Episode, now: np.ndarray) -> float:
    """mean |log pi_now - log pi_then| over the policy's tokens of an answer."""
    mine = episode.stream("origin") == Origin.POLICY
    return float(np.abs(now - episode.stream("old"))[mine].mean()) if mine.any() else 0.0


def _bare(episode: Episode, logp: np.ndarray) -> Episode:
    """The answer as one segment, with these log-probs."""
    ids, origin = episode.stream("ids").astype(np.int32), episode.stream("origin").astype(np.int8)
    request = dataclasses.replace(episode.request, prefix=())
    return dataclasses.replace(
        episode, request=request, segments=(Segment(ids, origin, old=logp),), provenance="replay"
    )
