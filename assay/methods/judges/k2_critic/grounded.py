"""A judge is paid where the verifier says the same."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.tasks.judging import COMPARE, JUDGE
from assay.types import Episode, Reward


def grounded(episodes: Sequence[Episode], *, right: float, wrong: float) -> list[Reward | None]:
    """`right` if a judgement agrees with the verifier, else `wrong`; half of both if the verifier finds two answers
    equally good, and None for answers that are no judgements.
    """

    def of(episode: Episode) -> Reward | None:
        problem = episode.request.problem
        if not problem.task.startswith((JUDGE, COMPARE)):
            return None
        tied = problem.task.startswith(COMPARE) and problem.spec["score"] == 0
        return Reward("grounded", (right + wrong) / 2 if tied else right if episode.right else wrong)

    return [of(episode) for episode in episodes]


class Grounded(Rewarding):
    """A judge is rewarded for agreeing with the verifier. If the verifier finds both answers of a comparison
    equally good, all verdicts earn the same.

    reward=(Grounded(wrong=-1.0),)
    --mechanism.reward grounded --mechanism.reward.0.wrong -1
    """

    right: float = 1.0
    wrong: float = 0.0
    does = grounded
    needs = ("texts",)
    outcome = True
