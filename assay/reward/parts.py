"""Rewards: from a verdict to named numbers. A part sees all episodes of a round, because some rewards compare rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.part import Rewarding
from assay.types import Episode, Reward, Verdict


def outcome(episodes: Sequence[Episode], *, max_new: int, right: float, wrong: float) -> list[Reward | None]:
    """`right` if the verdict is ok, else `wrong`."""
    return [Reward("outcome", right if episode.right else wrong) for episode in episodes]


@dataclass(frozen=True)
class Outcome(Rewarding):
    """What a right and a wrong answer are worth."""

    right: float = 1.0
    wrong: float = 0.0
    does = outcome
    outcome = True


MALFORMED = ("format", "empty", "truncated")


def graded(episodes: Sequence[Episode], *, right: float, wrong: float, malformed: float) -> list[Reward | None]:
    """`right` if the verdict is ok, `malformed` where no answer could be read, else `wrong`."""
    verdicts = [episode.verdict or Verdict.fail("wrong") for episode in episodes]
    worth = {"ok": right, "malformed": malformed, "wrong": wrong}
    kinds = ["ok" if v.status == "ok" else "malformed" if v.kind in MALFORMED else "wrong" for v in verdicts]
    return [Reward("outcome", worth[kind]) for kind in kinds]


@dataclass(frozen=True)
class Graded(Rewarding):
    """What a right, a wrong and a malformed answer are worth."""

    right: float = 1.0
    wrong: float = 0.0
    malformed: float = -1.0
    does = graded
    outcome = True
