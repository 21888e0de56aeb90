"""Rewards by verdict. A reward sees all episodes of a role at once, because some rewards compare answers."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.tasks.decisions import DECISIONS, GAP
from assay.types import Episode, Reward, Verdict
from assay.worlds.matches import DOMAIN, PAYOFF

NONE = 9.0  # the gap of what is no answer: no answer to a problem of ours costs ten times as much as a good one


def outcome(episodes: Sequence[Episode], *, max_new: int, right: float, wrong: float) -> list[Reward | None]:
    """`right` if the verdict is ok, else `wrong`; where answers have a cost, right - (right - wrong) gap; in a game,
    what was won. None where a world paid for each step.
    """
    rewarded = {True: Reward("outcome", right), False: Reward("outcome", wrong)}
    return [None if e.paid else _measured(e, right, wrong) or rewarded[e.right] for e in episodes]


def _measured(episode: Episode, right: float, wrong: float) -> Reward | None:
    """The reward of an answer that costs more than the reference by a share, the gap: `right` for one that costs as
    much, `wrong` for one that costs twice as much, and so on. In a game it is what the seat won. None where answers
    have neither.
    """
    if episode.request.problem.domain == DOMAIN and episode.verdict is not None:
        won = episode.verdict.scores.get(PAYOFF)
        return None if won is None else Reward("outcome", won)
    if episode.request.problem.domain != DECISIONS:
        return None
    gap = (episode.verdict.scores if episode.verdict else {}).get(GAP)
    return Reward("outcome", right - (right - wrong) * (NONE if gap is None else gap))


class Outcome(Rewarding):
    """The outcome reward: one number for a right answer, another for a wrong one. Where answers have a cost, as in the
    task tsp, `right` is for one that costs as much as the reference, `wrong` for one that costs twice as much, and
    others have a reward on the line through these two. In a game it is what the seat won, whatever these numbers say.

    reward=(Outcome(right=1.0, wrong=-1.0),)
    --mechanism.reward outcome --mechanism.reward.0.wrong -1
    """

    right: float = 1.0
    wrong: float = 0.0
    does = outcome
    needs_verdict = True
    outcome = True


MALFORMED = ("format", "empty", "truncated")  # kinds of a failed verdict


def graded(episodes: Sequence[Episode], *, right: float, wrong: float, malformed: float) -> list[Reward | None]:
    """`right` if the verdict is ok, `malformed` if the verifier could read no answer, else `wrong`."""
    verdicts = [episode.verdict or Verdict.fail("wrong") for episode in episodes]
    worth = {"ok": right, "malformed": malformed, "wrong": wrong}
    kinds = ["ok" if v.status == "ok" else "malformed" if v.kind in MALFORMED else "wrong" for v in verdicts]
    pairs = zip(episodes, kinds, strict=True)
    return [_measured(episode, right, wrong) or Reward("outcome", worth[kind]) for episode, kind in pairs]


class Graded(Rewarding):
    """The outcome reward with a third number for a malformed answer: bad format, empty or truncated.

    reward=(Graded(right=1.0, wrong=-0.5, malformed=-1.0),)
    --mechanism.reward graded --mechanism.reward.0.wrong -0.5
    """

    right: float = 1.0
    wrong: float = 0.0
    malformed: float = -1.0
    does = graded
    needs_verdict = True
    outcome = True
