"""A small cost for an answer that is longer or shorter than the reference."""

from __future__ import annotations

from collections.abc import Sequence

from assay.ask import Codec
from assay.part import Rewarding
from assay.reward.endpoint_judges import gold_of
from assay.reward.votes import answer_of
from assay.types import Episode, Reward


def close_length(episodes: Sequence[Episode], *, codec: Codec, cost: float, most: int) -> list[Reward | None]:
    """-cost min(most, |tokens of the answer - tokens of the reference|); 0 without an answer."""
    result: list[Reward | None] = []
    for episode in episodes:
        gold, answer = gold_of(episode.request.problem), answer_of(episode)
        apart = abs(len(codec.encode(answer)) - len(codec.encode(gold))) if answer is not None else 0
        result.append(Reward("close-length", -cost * min(most, apart)) if gold else None)
    return result


class CloseLength(Rewarding):
    """Each token by which the final answer is longer or shorter than the reference costs `cost`, up to `most` tokens.

    So an answer that lists everything for the judge to find costs more than it gains (General-Reasoner 2505.14652).

        reward=(Outcome(), CloseLength(cost=0.05))
        --mechanism.reward outcome,close-length --mechanism.reward.1.cost 0.05
    """

    writes = ("penalty",)
    cost: float = 0.05
    most: int = 10  # tokens
    does = close_length
