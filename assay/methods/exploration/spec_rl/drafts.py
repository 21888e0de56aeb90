"""The newest answers to each problem, stored as drafts for the next epoch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.part import Count, Remembering, scales_with
from assay.types import Episode, Origin, Row, Segment

if TYPE_CHECKING:
    from assay.memory import Memory


STORE = "drafts"


def keep_drafts(memory: Memory, *, rows: Sequence[Row], problems: int, place: str = STORE) -> Memory:
    """The memory with the new drafts: answers without a given prefix that ended by themselves or at the limit."""
    fresh: dict[str, list[Episode]] = {}
    for row in rows:
        if _whole(row.episode):
            fresh.setdefault(row.episode.request.problem.id, []).append(_draft(row.episode))
    held: dict[str, list[Episode]] = {}
    for draft in memory.kept.get(place, ()):
        if draft.request.problem.id not in fresh:
            held.setdefault(draft.request.problem.id, []).append(draft)
    newest = list((held | fresh).items())[-problems:]
    return memory.hold(place, [draft for _, drafts in newest for draft in drafts])


class Drafts(Remembering):
    """Stores the last answers to each problem with their log-probs, for at most `problems` problems; the oldest
    problems are dropped first.

        remember=(Drafts(problems=6144),)
        --mechanism.remember drafts --mechanism.remember.0.problems 6144
    """

    keeps = STORE

    problems: Count = scales_with("num_prompts", 512)
    does = keep_drafts


def _whole(episode: Episode) -> bool:
    alone = (episode.stream("origin") == Origin.POLICY).all() and not np.isnan(episode.stream("old")).any()
    return bool(alone) and len(episode) > 0 and episode.finish in ("stop", "length")


def _draft(episode: Episode) -> Episode:
    """The answer as one segment, without the fields that only its step needed."""
    written = Segment(
        ids=episode.stream("ids").astype(np.int32),
        origin=episode.stream("origin").astype(np.int8),
        old=episode.stream("old"),
        all_logp=_joined([segment.all_logp for segment in episode.segments if len(segment)]),
        top_ids=_joined([segment.top_ids for segment in episode.segments if len(segment)]),
        version=episode.segments[-1].version,
    )
    request = dataclasses.replace(episode.request, prefix=())
    return Episode(request, (written,), episode.finish)


def _joined(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None
