"""Rewards by verdict. A reward sees all episodes of a role at once, because some rewards compare answers."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.types import Episode, Reward, Verdict

GAP = "cost-gap"  # the score that says so; no reward function of a user can have this name


def outcome(episodes: Sequence[Episode], *, max_new: int, right: float, wrong: float) -> list[Reward | None]:
    """`right` if the verdict is ok, else `wrong`; where answers have a cost, wrong + (right - wrong) / (1 + gap). None
    where a world paid for each step.
    """
    rewarded = {True: Reward("outcome", right), False: Reward("outcome", wrong)}
    return [None if e.paid else _by_cost(e, right, wrong) or rewarded[e.right] for e in episodes]


def _by_cost(episode: Episode, right: float, wrong: float) -> Reward | None:
    """The reward of an answer whose verifier says by which share, the gap, it costs more than the reference: `right`
    for one that costs as much, half of the way to `wrong` for one that costs twice as much. None for all others.
    """
    gap = (episode.verdict.scores if episode.verdict else {}).get(GAP)
    return None if gap is None else Reward("outcome", wrong + (right - wrong) / (1 + gap))


class Outcome(Rewarding):
    """The outcome reward: one number for a right answer, another for a wrong one. An answer that has a cost, as in the
    task tsp, gets wrong + (right - wrong) * reference / cost.

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
    return [_by_cost(episode, right, wrong) or Reward("outcome", worth[kind]) for episode, kind in pairs]


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
