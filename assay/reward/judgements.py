"""Rewards from judgements that a role of the recipe wrote (`ask-judge` and `ask-pairs` of `expand`), and for them.

An answer about which the role wrote nothing that can be read has no judgement (`Reward.no_judgement`), which is no
judgement of zero: it counts nowhere, and the answer keeps its other rewards. Nobody gains by being hard to judge.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Rewarding
from assay.reward.anchors import Anchors
from assay.reward.rubrics import Criterion, of_vector
from assay.reward.stepped import ends_of
from assay.reward.within import Decoder
from assay.tasks import chain_of, num_rules
from assay.tasks.judging import COMPARE, JUDGE, written
from assay.types import Episode, Reward, RewardScope
from assay.verifiers.judges.contentless import has_text


def by_parent(everyone: Sequence[Episode], role: str, kind: str) -> dict[str, list[Episode]]:
    """The answers of a judge by what they judge."""
    found: dict[str, list[Episode]] = {}
    for episode in everyone:
        if episode.request.role == role and episode.request.problem.task.startswith(kind):
            found.setdefault(episode.request.parent, []).append(episode)
    return found


def unread(name: str, said: Sequence[Episode]) -> Reward | None:
    """The reward of an answer without a judgement that can be read: None if no judgement was asked for."""
    return Reward.no_judgement(name) if said else None


def scored_by(episodes: Sequence[Episode], *, everyone: Sequence[Episode], role: str) -> list[Reward | None]:
    """R = mean of the scores / highest score, over the judgements that can be read; no judgement if none can, None for
    an answer that was not judged.
    """
    judged = by_parent(everyone, role, JUDGE)

    def of(said: Sequence[Episode]) -> Reward | None:
        found = [(one, judgement) for one in said if (judgement := written(one)) is not None]
        scores = [judgement.score / one.request.problem.spec["most"] for one, judgement in found]
        return Reward("scored-by", float(np.mean(scores))) if scores else unread("scored-by", said)

    return [of(judged.get(episode.request.id, ())) for episode in episodes]


class ScoredBy(Rewarding):
    """The mean score that a role gave the answer, as a share of the highest score (Self-Rewarding 2401.10020).

    A judgement that cannot be read does not count. An answer without any that can has no reward, and does not train.

        reward=(ScoredBy(role="judge"),)
        --mechanism.reward scored-by --mechanism.reward.0.role judge
    """

    role: str = "judge"  # the role that `ask-judge` asks
    does = scored_by


def preferred_by(episodes: Sequence[Episode], *, everyone: Sequence[Episode], role: str) -> list[Reward | None]:
    """R_i = mean_j w_ij, where w_ij is 1 if answer i is found better than j in both orders, 0 if j is, else 1/2.

    A comparison counts if a judgement of each order can be read; no judgement without one that does. Answers with equal
    texts tie without being asked about. None for an answer that was compared with no other.
    """
    judged = by_parent(everyone, role, COMPARE)
    wins: dict[str, list[float]] = {}
    asked: dict[str, list[Episode]] = {}
    for parent, said in judged.items():
        first, second = parent.split(" ")
        back = judged.get(f"{second} {first}", [])
        asked.setdefault(first, []).extend(said)
        forth, other = _chosen(said, 1), _chosen(back, 2)
        if forth is not None and other is not None:
            share = (forth + other) / 2
            wins.setdefault(first, []).append(1.0 if share == 1 else 0.0 if share == 0 else 0.5)

    def of(episode: Episode) -> Reward | None:
        found = [*wins.get(episode.request.id, ()), *(0.5 for other in episodes if _same(episode, other))]
        if found:
            return Reward("preferred-by", float(np.mean(found)))
        return unread("preferred-by", asked.get(episode.request.id, ()))

    return [of(episode) for episode in episodes]


def _same(one: Episode, other: Episode) -> bool:
    """Whether these are two answers of a group with one text."""
    mine, theirs = one.request, other.request
    return mine.group == theirs.group and mine.id != theirs.id and one.text == other.text


def _chosen(said: Sequence[Episode], place: int) -> float | None:
    """The mean vote for the answer that the judge read at this place, 1/2 where it finds both as good; None if nothing
    that it said can be read.
    """
    votes = [found.score for one in said if (found := written(one)) is not None]
    return float(np.mean([float(vote == place) if vote else 0.5 for vote in votes])) if votes else None


class PreferredBy(Rewarding):
    """The share of comparisons that the answer won in the eyes of a role; a win must be one in both orders, and all
    else is half a win (the round robin of MT-Bench 2306.05685, with a judge that is trained here).

        reward=(PreferredBy(role="critic"),)
        --mechanism.reward preferred-by --mechanism.reward.0.role critic
    """

    role: str = "judge"  # the role that `ask-pairs` asks
    does = preferred_by


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


def signs_of(judgement: Episode, count: int) -> list[float] | None:
    """1 and -1 for the marks of a judgement; None if it does not have exactly so many."""
    found = written(judgement)
    if found is None or len(found.marks) != count or "," in found.marks:
        return None
    return [1.0 if mark == "+" else -1.0 for mark in found.marks]


class MarkedBy(Rewarding):
    """Each step earns what a role says of it, which marks it as right or wrong (RL Tango 2505.15034).

    The division by the number of steps keeps an answer from earning more by more steps. A judgement with another number
    of marks than the answer has steps cannot be read. An answer with steps of which no judgement can be read has no
    such reward, and keeps the others.

        reward=(Outcome(), MarkedBy(role="verifier"))
        --mechanism.reward outcome,marked-by --mechanism.reward.1.role verifier
    """

    role: str = "judge"  # the role that `ask-judge` asks
    does = marked_by

    @property
    def gives(self) -> RewardScope:
        return "span"


def rubric_by(
    episodes: Sequence[Episode], *, everyone: Sequence[Episode], role: str, anchors: Anchors
) -> list[Reward | None]:
    """`anchored` of r_k, the share of the judgements that mark rule k as kept; 0 for an answer that says nothing. No
    judgement if none can be read, None for answers that were not judged, or to a task without rules.
    """
    judged = by_parent(everyone, role, JUDGE)

    def of(episode: Episode) -> Reward | None:
        rubric = [Criterion(f"rule {n}") for n in range(1, 1 + num_rules(episode.request.problem))]
        said = judged.get(episode.request.id, ())
        rows = [signs for one in said if (signs := signs_of(one, len(rubric))) is not None]
        if rubric and not has_text(episode.text):
            return Reward("rubric-by", 0.0)
        if not rubric or not rows:
            return unread("rubric-by", said) if rubric else None
        return of_vector("rubric-by", rubric, [(1 + sign) / 2 for sign in np.mean(rows, axis=0).tolist()], anchors)

    return [of(episode) for episode in episodes]


class RubricBy(Rewarding):
    """The rules of a problem are its rubric, and a role marks which of them an answer keeps (Rubicon 2508.12790). A
    judgement with another number of marks than there are rules does not count. What a judge says of an answer without
    any text is not believed.

        reward=(RubricBy(role="critic"),)
        --mechanism.reward rubric-by --mechanism.reward.0.role critic
    """

    role: str = "judge"  # the role that `ask-judge` asks
    anchors: Anchors = Anchors()  # how the rules become one number; by default the share that is marked as kept
    does = rubric_by

    def refusal(self, **_: object) -> str | None:
        fault = self.anchors.fault
        return f"rubric-by.anchors: {fault}." if fault else None


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


def grounded(episodes: Sequence[Episode], *, right: float, wrong: float) -> list[Reward | None]:
    """`right` if a judgement agrees with the verifier, else `wrong`; half of both where the verifier finds two answers
    as good, and None for answers that are no judgements.
    """

    def of(episode: Episode) -> Reward | None:
        problem = episode.request.problem
        if not problem.task.startswith((JUDGE, COMPARE)):
            return None
        tied = problem.task.startswith(COMPARE) and problem.spec["score"] == 0
        return Reward("grounded", (right + wrong) / 2 if tied else right if episode.right else wrong)

    return [of(episode) for episode in episodes]


class Grounded(Rewarding):
    """A judge is rewarded for agreeing with the verifier. Where the verifier finds both answers of a comparison as
    good, all verdicts earn the same.

    reward=(Grounded(wrong=-1.0),)
    --mechanism.reward grounded --mechanism.reward.0.wrong -1
    """

    right: float = 1.0
    wrong: float = 0.0
    does = grounded
    outcome = True
