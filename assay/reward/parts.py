"""Rewards: from a verdict to named numbers. A part sees all episodes of a round, because some rewards compare rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.part import Part
from assay.reward.learnability import Learnability, learnability
from assay.reward.lengths import (
    Adherence,
    Shortness,
    SoftOverlong,
    StopProperly,
    adherence,
    shortness,
    soft_overlong,
    stop_properly,
)
from assay.reward.preference import ModelScore, model_score
from assay.reward.scored import Scored, scored
from assay.reward.usefulness import Usefulness, usefulness
from assay.types import Episode, Reward, Verdict


@dataclass(frozen=True)
class Outcome(Part):
    """What a right and a wrong answer are worth."""

    right: float = 1.0
    wrong: float = 0.0


def outcome(episodes: Sequence[Episode], *, max_new: int, right: float, wrong: float) -> list[Reward | None]:
    """`right` if the verdict is ok, else `wrong`."""
    return [Reward("outcome", right if episode.right else wrong) for episode in episodes]


@dataclass(frozen=True)
class Graded(Part):
    """What a right, a wrong and a malformed answer are worth."""

    right: float = 1.0
    wrong: float = 0.0
    malformed: float = -1.0


MALFORMED = ("format", "empty", "truncated")


def graded(episodes: Sequence[Episode], *, right: float, wrong: float, malformed: float) -> list[Reward | None]:
    """`right` if the verdict is ok, `malformed` where no answer could be read, else `wrong`."""
    verdicts = [episode.verdict or Verdict.fail("wrong") for episode in episodes]
    worth = {"ok": right, "malformed": malformed, "wrong": wrong}
    kinds = ["ok" if v.status == "ok" else "malformed" if v.kind in MALFORMED else "wrong" for v in verdicts]
    return [Reward("outcome", worth[kind]) for kind in kinds]


@dataclass(frozen=True)
class PartialOutcome(Part):
    """A wrong answer that could at least be read as one is worth something too (R3 2402.05808)."""

    right: float = 1.0
    readable: float = 0.2
    wrong: float = 0.0


def partial_outcome(episodes: Sequence[Episode], *, right: float, readable: float, wrong: float) -> list[Reward | None]:
    """`right` if the verdict is ok, else `readable` if an answer was found that could be judged, else `wrong`."""
    worth = []
    for episode in episodes:
        verdict = episode.verdict
        found = verdict is not None and verdict.answer is not None
        worth.append(right if episode.right else readable if found else wrong)
    return [Reward("outcome", value) for value in worth]


@dataclass(frozen=True)
class Formatted(Part):
    """What an answer is worth for being one that can be read, right or wrong."""

    readable: float = 1.0
    malformed: float = 0.0


def formatted(episodes: Sequence[Episode], *, readable: float, malformed: float) -> list[Reward | None]:
    kinds = ["wrong" if episode.verdict is None else episode.verdict.kind for episode in episodes]
    return [Reward("format", malformed if kind in MALFORMED else readable) for kind in kinds]


REWARDS = {
    "outcome": (Outcome, outcome),
    "graded": (Graded, graded),
    "learnability": (Learnability, learnability),
    "partial-outcome": (PartialOutcome, partial_outcome),
    "scored": (Scored, scored),
    "usefulness": (Usefulness, usefulness),
    "formatted": (Formatted, formatted),
    "model-score": (ModelScore, model_score),
    "soft-overlong": (SoftOverlong, soft_overlong),
    "stop-properly": (StopProperly, stop_properly),
    "shortness": (Shortness, shortness),
    "adherence": (Adherence, adherence),
}
