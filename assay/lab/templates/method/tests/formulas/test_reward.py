"""The reward by hand."""

from __future__ import annotations

import numpy as np

from assay.lab.templates.method.parts.reward import MyMethod
from assay.part import bind
from assay.types import Episode, Origin, Problem, Request, Reward, Segment, Verdict


def answer(sample: int, *, right: bool, length: int = 2) -> Episode:
    asked = Request(Problem("countdown", "?", {}, "?"), np.zeros(2, np.int32), "0:0", 4, sample=sample)
    written = Segment(np.zeros(length, np.int32), np.full(length, Origin.POLICY, np.int8))
    verdict = Verdict.ok() if right else Verdict.fail("wrong")
    return Episode(asked, (written,), "stop", verdict=verdict, rewards=(Reward("outcome", float(right)),))


def test_by_hand() -> None:
    """Two of four tokens are half of the penalty."""
    paid = bind(MyMethod(weight=0.1))
    assert [reward.value for reward in paid([answer(0, right=True), answer(1, right=False, length=0)])] == [-0.05, 0.0]
