"""A reward for the rules of a problem that code checks."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.types import Episode, Reward


def kept_rules(episodes: Sequence[Episode], *, score: str) -> list[Reward | None]:
    """S_h: the share of rules that the answer keeps, by the verdict's score; without one 1 if it is right, else 0."""
    result: list[Reward | None] = []
    for episode in episodes:
        said = (episode.verdict.scores if episode.verdict else {}).get(score)
        plain = float(episode.right)
        result.append(Reward("kept-rules", plain if said is None or episode.finish != "stop" else said))
    return result


class KeptRules(Rewarding):
    """The share of rules that code finds kept (VerIF 2506.09942); 0 for an answer that was cut.

    reward=(KeptRules(score="rules"),)
    --mechanism.reward kept-rules --mechanism.reward.0.score rules
    """

    score: str = "rules"  # the score's name in the verdict
    does = kept_rules
    outcome = True
