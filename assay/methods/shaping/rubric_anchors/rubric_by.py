"""The rules of a problem as a rubric that a role marks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Rewarding
from assay.reward.anchors import Anchors
from assay.reward.role_judges import by_parent, signs_of, unread
from assay.reward.rubrics import Criterion, of_vector
from assay.tasks import num_rules
from assay.tasks.judging import JUDGE
from assay.types import Episode, Reward
from assay.verifiers.judges.contentless import has_text


def rubric_by(
    episodes: Sequence[Episode], *, everyone: Sequence[Episode], role: str, anchors: Anchors
) -> list[Reward | None]:
    """`anchored` of r_k, the share of the judgements that mark rule k as kept; 0 for an answer that says nothing. If
    none of its judgements can be read, the reward is `no_judgement`. None for an answer that was not judged, or to a
    task without rules.
    """
    judged = by_parent(everyone, role, JUDGE)

    def of(episode: Episode) -> Reward | None:
        rubric = [Criterion(f"rule {n}") for n in range(1, 1 + num_rules(episode.request.problem))]
        judgements = judged.get(episode.request.id, ())
        rows = [signs for judgement in judgements if (signs := signs_of(judgement, len(rubric))) is not None]
        if rubric and not has_text(episode.text):
            return Reward("rubric-by", 0.0)
        if not rubric or not rows:
            return unread("rubric-by", judgements) if rubric else None
        return of_vector("rubric-by", rubric, [(1 + sign) / 2 for sign in np.mean(rows, axis=0).tolist()], anchors)

    return [of(episode) for episode in episodes]


class RubricBy(Rewarding):
    """The rules of a problem are its rubric, and a role marks which of them an answer keeps (Rubicon 2508.12790). A
    judgement with another number of marks than there are rules does not count. A judgement of an answer without any
    text is not believed.

        reward=(RubricBy(role="critic"),)
        --mechanism.reward rubric-by --mechanism.reward.0.role critic
    """

    role: str = "judge"  # the role that `ask-judge` asks
    anchors: Anchors = Anchors()  # how the rules become one number; by default the share that is marked as kept
    does = rubric_by
    needs = ("texts",)

    def refusal(self, **_: object) -> str | None:
        fault = self.anchors.fault
        return f"rubric-by.anchors: {fault}." if fault else None
