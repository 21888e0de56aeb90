"""Forks after a reply of the environment: several continuations of the same beginning."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from assay.ask import Codec
from assay.collect.spoken import going_on
from assay.memory import Memory
from assay.part import Count, Expansion, scales_with
from assay.types import Episode, Origin, Request


def fork_at_replies(
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    paused: Sequence[Episode],
    codec: Codec,
    total: int,
    beams: int,
    threshold: float,
    weight: float,
    tokens: int,
) -> list[Request]:
    """Requests for forks of the answers that are still in progress.

    A group without such an answer gets one fresh answer a round until the group is full.
    """
    sizes: dict[str, int] = {}
    free: dict[str, int] = {}  # the least sample number of each group above all that it has
    for episode in (*episodes, *paused):
        group, sample = episode.request.group, episode.request.sample
        sizes[group] = sizes.get(group, 0) + 1
        free[group] = max(free.get(group, 0), sample + 1)
    asked: list[Request] = []

    def ask(request: Request, **changes: int) -> None:
        asked.append(dataclasses.replace(request, sample=free[request.group], **changes))
        sizes[request.group] += 1
        free[request.group] += 1

    for episode in paused:
        onward, _ = going_on(episode)
        chance = threshold + weight * entropy_rise(episode, tokens) / math.log(codec.vocab)
        for beam in range(beams - 1):
            u = memory.key("fork", memory.step, onward.id, beam).generator().random()
            if u <= chance and sizes[onward.group] < total:
                ask(onward, fork=len(episode))
    active = {episode.request.group for episode in paused}
    roots = {e.request.group: e.request for e in reversed(episodes) if not e.request.parent}
    for group in sorted(roots.keys() - active, key=lambda group: roots[group].draw):
        if sizes[group] < total:
            ask(roots[group])
    return asked


class ForkAtReplies(Expansion):
    """Forks after the environment's replies grow each group to `total` answers, more where entropy has risen (ARPO
    2507.19849).

    P(fork) = threshold + weight (H_now - H_first) / ln V, where H is the mean entropy of the first `tokens` tokens of
    a turn and V the size of the vocabulary.

        expand=(ForkAtReplies(total=16),)
        --mechanism.expand fork-at-replies --mechanism.expand.0.total 16
    """

    continues = True

    total: Count = scales_with("group_size", 16, at=8)
    beams: Count = 2  # an answer forks at most beams - 1 times at one reply
    threshold: float = 0.5
    weight: float = 0.2
    tokens: Count = 20
    does = fork_at_replies


def entropy_rise(episode: Episode, tokens: int) -> float:
    """Mean entropy of the first tokens of the last turn minus that of the first turn; 0 while the
    answer has one turn.
    """
    turns = [s for s in episode.segments if s.entropy is not None and len(s) and s.origin[0] == Origin.POLICY]
    if not turns:
        return 0.0
    first, last = (float(np.mean(s.entropy[:tokens])) for s in (turns[0], turns[-1]) if s.entropy is not None)
    return last - first
