"""A reward for a response that contains none of some texts."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.types import Episode, Reward


def free_of(episodes: Sequence[Episode], *, texts: Sequence[str], right: float, wrong: float) -> list[Reward | None]:
    """`right` if the response contains none of the texts, else `wrong`."""
    return [Reward("free-of", wrong if any(text in episode.text for text in texts) else right) for episode in episodes]


class FreeOf(Rewarding):
    """Rewards a response for not containing some texts, for example the marks of an exploit that was seen in an earlier
    run. As the critical reward of a `veto` it closes this exploit.

        reward=(Veto(critical=(FreeOf(texts=("Great",)),)),)
        --mechanism.reward veto --mechanism.reward.0.critical free-of --mechanism.reward.0.critical.0.texts Great
    """

    texts: tuple[str, ...] = ()
    right: float = 1.0  # the reward of a response that contains none of them
    wrong: float = 0.0
    does = free_of
    needs = ("texts",)
