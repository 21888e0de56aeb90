"""The newest answers to each problem, for those who begin where they left off."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.part import Part, scales_with
from assay.types import Episode, Origin, Row, Segment

if TYPE_CHECKING:
    from assay.memory import Memory


@dataclass(frozen=True)
class Drafts(Part):
    """Keep the last answers to each problem with their log-probs; of at most so many problems, the oldest go first."""

    problems: int = scales_with("num_prompts", 512)


def keep_drafts(memory: Memory, *, rows: Sequence[Row], problems: int) -> Memory:
    """Answers that the policy wrote alone and that came to an end of their own or of the limit's."""
    fresh: dict[str, list[Episode]] = {}
    for row in rows:
        if _whole(row.episode):
            fresh.setdefault(row.episode.request.problem.id, []).append(_draft(row.episode))
    held: dict[str, list[Episode]] = {}
    for draft in memory.kept.get("drafts", ()):
        if draft.request.problem.id not in fresh:
            held.setdefault(draft.request.problem.id, []).append(draft)
    newest = list((held | fresh).items())[-problems:]
    return memory.hold("drafts", [draft for _, drafts in newest for draft in drafts])


def _whole(episode: Episode) -> bool:
    alone = (episode.stream("origin") == Origin.POLICY).all() and not np.isnan(episode.stream("old")).any()
    return bool(alone) and len(episode) > 0 and episode.finish in ("stop", "length")


def _draft(episode: Episode) -> Episode:
    """The answer in one piece, without what only the step needed."""
    every = [segment.all_logp for segment in episode.segments if len(segment)]
    written = Segment(
        ids=episode.stream("ids").astype(np.int32),
        origin=episode.stream("origin").astype(np.int8),
        old=episode.stream("old"),
        all_logp=None if any(x is None for x in every) else np.concatenate([x for x in every if x is not None]),
        version=episode.segments[-1].version,
    )
    request = dataclasses.replace(episode.request, prefix=())
    return Episode(request, (written,), episode.finish)
