"""The reward of an abstraction: the mean reward of the answers written with it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from assay.part import Rewarding
from assay.types import Episode, Reward


def usefulness(episodes: Sequence[Episode], *, everyone: Sequence[Episode]) -> list[Reward | None]:
    """The mean rewards; None for an abstraction none of whose answers could be judged yet."""
    found: dict[str, list[float]] = {}
    for episode in everyone:
        if episode.request.parent and episode.reward is not None:
            found.setdefault(episode.request.parent, []).append(episode.reward)
    means = [fmean(values) if (values := found.get(e.request.id)) else None for e in episodes]
    return [None if mean is None else Reward("usefulness", mean) for mean in means]


class Usefulness(Rewarding):
    """The reward of an abstraction is the mean reward of the answers that were written with it.

    Rule("abstraction", verified=False, reward=(Usefulness(),))
    --mechanism.rules.0.reward usefulness
    """

    does = usefulness
