"""For each share of the pool, its highest open level and the counts of answers at that level."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.part import Count, Remembering
from assay.types import Episode

if TYPE_CHECKING:
    from assay.memory import Memory
    from assay.source import Pool, Share

STORE = "levels"


@dataclass(frozen=True)
class Standing:
    """The state of one share of the pool: its highest open level, counted from the easiest, and the answers counted
    there.
    """

    highest: int = 0
    prompts: int = 0
    right: int = 0
    tried: int = 0


def promote(
    memory: Memory, *, episodes: Sequence[Episode], pool: Pool, accuracy: float, after: int, place: str = STORE
) -> Memory:
    """h <- h + 1 if right / tried >= accuracy. The counts start anew after every judgement, and h never falls."""
    store = memory.store(place)
    for share in pool.shares:
        store[_name(share)] = dataclasses.asdict(
            _judged(_counted(standing(memory, share, place), share, episodes), share, accuracy, after)
        )
    return memory.keep(place, store)


class Promote(Remembering):
    """Opens the next level of a share when `accuracy` is reached on the highest one; judged after every `after`
    prompts.

    All sampled answers count, before any filter: a filter for mixed groups would hide that a level is mastered.

        remember=(Promote(accuracy=0.9),)
        --mechanism.remember promote --mechanism.remember.0.accuracy 0.9
    """

    keeps = STORE

    accuracy: float = 0.9
    after: Count = 8
    does = promote
    needs_verdict = True


def standing(memory: Memory, share: Share, place: str = STORE) -> Standing:
    """The stored state of a share."""
    return Standing(**memory.store(place).get(_name(share), {}))


def _counted(before: Standing, share: Share, episodes: Sequence[Episode]) -> Standing:
    """The state with the step's answers at the highest open level counted in."""
    highest = share.task, sorted(share.levels)[before.highest]
    answers = [
        episode
        for episode in episodes
        if (episode.request.problem.task, episode.request.problem.level) == highest
        and episode.verified
        and not episode.request.helped
    ]
    return Standing(
        highest=before.highest,
        prompts=before.prompts + len({episode.group for episode in answers}),
        right=before.right + sum(episode.right for episode in answers),
        tried=before.tried + len(answers),
    )


def _judged(counted: Standing, share: Share, accuracy: float, after: int) -> Standing:
    if counted.prompts < after:
        return counted
    mastered = counted.right >= accuracy * counted.tried
    return Standing(highest=min(counted.highest + mastered, len(share.levels) - 1))


def _name(share: Share) -> str:
    return f"{share.task}:{','.join(map(str, sorted(share.levels)))}"
