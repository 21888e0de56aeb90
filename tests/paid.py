"""What answers of given lengths earn."""

from __future__ import annotations

from collections.abc import Sequence

from tiny import episode, segment

from assay.part import Part, bind
from assay.types import Episode, Origin


def earned(part: Part, episodes: Sequence[Episode]) -> list[float]:
    found = bind(part, max_new=8)(episodes, everyone=episodes)
    return [reward.value for reward in found]


def of_lengths(*spec: tuple[int, bool], group: str = "g") -> list[Episode]:
    return [
        episode([1] * n, group=group, sample=i, reward=float(right), right=right) for i, (n, right) in enumerate(spec)
    ]


def in_turns(own: int, replied: int, sample: int, reward: float = 1.0) -> Episode:
    """An answer of so many tokens, and a reply of a tool within it."""
    pieces = [segment([1]), segment([2] * replied, origin=Origin.ENV), segment([1] * (own - 1))]
    return episode(pieces, sample=sample, reward=reward, right=reward > 0)


def with_replies() -> list[Episode]:
    """Own tokens 2, 3, 4; with the replies of 9, 1 and 4 the second would be the shortest and the first the longest."""
    return [in_turns(2, 9, 0), in_turns(3, 1, 1), in_turns(4, 4, 2)]
