"""Rewards by verdict. A reward sees all episodes of a role at once, because some rewards compare answers."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.types import Episode, Reward, Verdict


def outcome(episodes: Sequence[Episode], *, max_new: int, right: float, wrong: float) -> list[Reward | None]:
    """`right` if the verdict is ok, else `wrong`."""
    rewarded = {True: Reward("outcome", right), False: Reward("outcome", wrong)}
    return [rewarded[episode.right] for episode in episodes]


class Outcome(Rewarding):
    """The outcome reward: one number for a right answer, another for a wrong one.

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
    return [Reward("outcome", worth[kind]) for kind in kinds]


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
