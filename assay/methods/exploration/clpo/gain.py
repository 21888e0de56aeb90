"""The reward of a rewritten problem: how much more often it is solved than the original."""

from __future__ import annotations

from collections.abc import Sequence

from assay.methods.exploration.clpo.rewrite import ROLE
from assay.part import Rewarding
from assay.types import Episode, Reward


def accuracy_gain(episodes: Sequence[Episode], *, everyone: Sequence[Episode]) -> list[Reward | None]:
    """r = a' - a: the accuracy on the rewritten problem less that on the original; None if either is not known."""
    of_group: dict[str, list[bool]] = {}
    with_text: dict[str, list[bool]] = {}
    for episode in everyone:
        request = episode.request
        if request.role == ROLE or not episode.verified:
            continue
        if request.parent:
            with_text.setdefault(request.parent, []).append(episode.right)
        else:
            of_group.setdefault(f"{request.group}/{ROLE}", []).append(episode.right)
    rewards: list[Reward | None] = []
    for episode in episodes:
        after, before = with_text.get(episode.request.id), of_group.get(episode.request.group)
        gain = sum(after) / len(after) - sum(before) / len(before) if after and before else None
        rewards.append(None if gain is None else Reward("gain", gain))
    return rewards


class AccuracyGain(Rewarding):
    """A rewritten problem is worth the accuracy of the answers to it, less that of the answers to the original.

    A text that nobody was asked to solve has no reward.
    """

    does = accuracy_gain
    needs_verdict = True
