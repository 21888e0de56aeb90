"""The worth of a verifier's marks: to the answer whose steps they mark, and to the verifier for their form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Rewarding
from assay.reward.role_judges import by_parent, signs_of, unread
from assay.reward.stepped import ends_of
from assay.reward.within import Decoder
from assay.tasks import chain_of
from assay.tasks.judging import COMPARE, JUDGE, written
from assay.types import Episode, Reward, RewardScope


def marked_by(
    episodes: Sequence[Episode], *, everyone: Sequence[Episode], codec: Decoder, role: str
) -> list[Reward | None]:
    """r_k = y_k / K at the last token of step k of K, y_k = 1 for '+' and -1 for '-': the mean over the judgements that
    mark each step. No judgement if none does; None for an answer that was not judged, or to a task without steps.
    """
    judged = by_parent(everyone, role, JUDGE)
    return [_marked(episode, judged.get(episode.request.id, ()), codec) for episode in episodes]


def _marked(episode: Episode, said: Sequence[Episode], codec: Decoder) -> Reward | None:
    chain = chain_of(episode.request.problem, episode.text)
    if chain is None:
        return None
    at = ends_of(chain, episode, codec)
    rows = [signs for one in said if (signs := signs_of(one, len(at))) is not None]
    if len(at) and not rows:
        return unread("marked-by", said)
    values = np.mean(rows, axis=0) / len(at) if len(at) else np.zeros(0)
    return Reward("marked-by", float(values.sum()), "span", values, at)


class MarkedBy(Rewarding):
    """Each step earns by the mark that a role gives it, right or wrong (RL Tango 2505.15034).

    The division by the number of steps keeps an answer from earning more by more steps. A judgement with another number
    of marks than the answer has steps cannot be read. If an answer has steps but no judgement of it can be read, it
    has no such reward, and keeps the others.

        reward=(Outcome(), MarkedBy(role="verifier"))
        --mechanism.reward outcome,marked-by --mechanism.reward.1.role verifier
    """

    role: str = "judge"  # the role that `ask-judge` asks
    does = marked_by

    @property
    def gives(self) -> RewardScope:
        return "span"


def well_marked(episodes: Sequence[Episode], *, worth: float) -> list[Reward | None]:
    """`worth` for a judgement that can be read and has as many marks as there is to check, else 0; None for answers
    that are no judgements.
    """

    def of(episode: Episode) -> Reward | None:
        problem = episode.request.problem
        if not problem.task.startswith((JUDGE, COMPARE)):
            return None
        found, wanted = written(episode), problem.spec["marks"].get(problem.wording, "")
        good = found is not None and list(map(len, found.marks.split(","))) == list(map(len, wanted.split(",")))
        return Reward("well-marked", worth * good)

    return [of(episode) for episode in episodes]


class WellMarked(Rewarding):
    """A reward for the form of a judgement: one mark for each thing that is to be checked, and a score.

    reward=(Outcome(), WellMarked(worth=0.5))
    --mechanism.reward outcome,well-marked --mechanism.reward.1.worth 0.5
    """

    worth: float = 1.0
    does = well_marked
    needs = ("texts",)
